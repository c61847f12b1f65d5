// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer's products by oneDNN, in the layouts that it likes best. Putting tensors into these and
// taking them out does not count.
#pragma once

#include <cstddef>
#include <dnnl.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "convolution_layers.hpp"

namespace benchmark_layers {

class OneDnn {
  using Dims = dnnl::memory::dims;
  using Description = dnnl::memory::desc;
  using Tag = dnnl::memory::format_tag;

 public:
  /// \param first, second  the images and filters, the outputs' gradients and the filters, or these
  ///   and the images; in the order (b, c, y, x) and (o, c, r, s) or with channels last.
  OneDnn(const Layer& layer, Direction direction, bool channels_last, const float* first,
         const float* second)
      : m_engine(dnnl::engine::kind::cpu, 0), m_stream(m_engine) {
    const Dims images{layer.batch, layer.channels, layer.height, layer.width};
    const Dims filters{layer.filters, layer.channels, layer.window, layer.window};
    const Dims outputs{layer.batch, layer.filters, layer.rows(), layer.columns()};
    const Dims strides{layer.stride, layer.stride};
    const Dims padding{layer.padding, layer.padding};
    const auto any = [](const Dims& dims) {
      return Description(dims, dnnl::memory::data_type::f32, Tag::any);
    };
    const Tag image_tag = channels_last ? Tag::nhwc : Tag::nchw;
    const Tag filter_tag = channels_last ? Tag::hwio : Tag::oihw;
    const auto method = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, method, any(images), any(filters), any(outputs),
         strides, padding, padding},
        m_engine);
    if (direction == Direction::forward) {
      add(DNNL_ARG_SRC, forward.src_desc(), images, image_tag, first);
      add(DNNL_ARG_WEIGHTS, forward.weights_desc(), filters, filter_tag, second);
      add_result(DNNL_ARG_DST, forward.dst_desc(), outputs, image_tag);
      m_primitive = dnnl::convolution_forward(forward);
    } else if (direction == Direction::images) {
      const dnnl::convolution_backward_data::primitive_desc backward(
          {method, any(images), any(filters), any(outputs), strides, padding, padding}, m_engine,
          forward);
      add(DNNL_ARG_DIFF_DST, backward.diff_dst_desc(), outputs, image_tag, first);
      add(DNNL_ARG_WEIGHTS, backward.weights_desc(), filters, filter_tag, second);
      add_result(DNNL_ARG_DIFF_SRC, backward.diff_src_desc(), images, image_tag);
      m_primitive = dnnl::convolution_backward_data(backward);
    } else {
      const dnnl::convolution_backward_weights::primitive_desc backward(
          {method, any(images), any(filters), any(outputs), strides, padding, padding}, m_engine,
          forward);
      add(DNNL_ARG_DIFF_DST, backward.diff_dst_desc(), outputs, image_tag, first);
      add(DNNL_ARG_SRC, backward.src_desc(), images, image_tag, second);
      add_result(DNNL_ARG_DIFF_WEIGHTS, backward.diff_weights_desc(), filters, filter_tag);
      m_primitive = dnnl::convolution_backward_weights(backward);
    }
  }

  void run() {
    m_primitive.execute(m_stream, m_memory);
    m_stream.wait();
  }

  /// The result of the last run in the order of the operands.
  [[nodiscard]] std::vector<float> result() {
    std::vector<float> elements(m_result.get_size() / sizeof(float));
    dnnl::memory plain(m_result, m_engine, elements.data());
    dnnl::memory& computed = m_memory.at(m_result_argument);
    dnnl::reorder(computed, plain).execute(m_stream, computed, plain);
    m_stream.wait();
    return elements;
  }

 private:
  void add(int argument, const Description& liked, const Dims& dims, Tag tag,
           const float* elements) {
    dnnl::memory plain({dims, dnnl::memory::data_type::f32, tag}, m_engine,
                       const_cast<float*>(elements));
    dnnl::memory ready(liked, m_engine);
    dnnl::reorder(plain, ready).execute(m_stream, plain, ready);
    m_stream.wait();
    m_memory.emplace(argument, std::move(ready));
  }
  void add_result(int argument, const Description& liked, const Dims& dims, Tag tag) {
    m_result = Description(dims, dnnl::memory::data_type::f32, tag);
    m_result_argument = argument;
    m_memory.emplace(argument, dnnl::memory(liked, m_engine));
  }

  dnnl::engine m_engine;
  dnnl::stream m_stream;
  dnnl::primitive m_primitive;
  std::unordered_map<int, dnnl::memory> m_memory;
  Description m_result;
  int m_result_argument = 0;
};

}  // namespace benchmark_layers
