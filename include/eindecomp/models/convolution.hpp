// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Convolutional networks as programs: what they say of images, and one step of their training.
///
/// A convolution of stride S with P zeros around the image is written Y(b,o,y,x) = Σ X(b, c, S·y +
/// r - P, S·x + s - P) · W(o,c,r,s) over c, r and s, a pool as the maximum of such windows.
#pragma once

#include <cstddef>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/models/training.hpp"

namespace eindecomp {

/// One layer of a convolutional network.
struct ConvolutionalLayer {
  /// What a layer does: convolve with filters, take the maximum of windows, or multiply by a
  /// matrix.
  enum class Kind { convolution, pool, dense };
  Kind kind = Kind::convolution;  ///< what the layer does
  Extent features = 0;  ///< of the result: channels, or neurons of a dense layer; not of pools
  Extent window = 0;    ///< rows and columns of a filter or pool; not of dense layers
  Extent stride = 1;    ///< from window to window, of rows and of columns
  Extent padding = 0;   ///< zeros before and behind rows and columns; of convolutions
};

/// A network of square images: convolutions and pools, then dense layers, a relu after every layer
/// but pools and the last one.
struct ConvolutionalNet {
  Extent batch = 1;                        ///< images
  Extent channels = 3;                     ///< of the input
  Extent image = 1;                        ///< rows and columns of the input
  std::vector<ConvolutionalLayer> layers;  ///< the first layer first
  /// Whether workers share rows and columns of images and filters. SoyBean (section 4.4) leaves
  /// them whole.
  bool cut_images = true;
};

namespace models {
/// A convolution of so many filters.
[[nodiscard]] constexpr ConvolutionalLayer convolve(Extent features, Extent window,
                                                    Extent stride = 1, Extent padding = 0) {
  return {ConvolutionalLayer::Kind::convolution, features, window, stride, padding};
}
/// The maximum of each window.
[[nodiscard]] constexpr ConvolutionalLayer pool(Extent window, Extent stride) {
  return {ConvolutionalLayer::Kind::pool, 0, window, stride, 0};
}
/// A layer of so many neurons, each of which sees all of the image.
[[nodiscard]] constexpr ConvolutionalLayer dense(Extent features) {
  return {ConvolutionalLayer::Kind::dense, features, 0, 1, 0};
}
}  // namespace models

/// By how much a network is made smaller.
struct Narrowing {
  Extent image = 1;     ///< rows and columns of the input
  Extent channels = 1;  ///< what filters are divided by
  Extent neurons = 1;   ///< what neurons of dense layers are divided by, but for the last one's
  Extent classes = 1;   ///< what those of the last layer are divided by
};

/// The same network with fewer filters and neurons, rounded down, on images of other sizes: what
/// tests and measurements have room for, with windows and strides as they are.
/// \throws Error if a divisor is not positive, or nothing is left of a layer.
[[nodiscard]] inline ConvolutionalNet narrowed(
    ConvolutionalNet net, const Narrowing& by,
    std::source_location where = std::source_location::current()) {
  net.image = by.image;
  for (std::size_t n = 0; n < net.layers.size(); ++n) {
    ConvolutionalLayer& layer = net.layers[n];
    if (layer.kind == ConvolutionalLayer::Kind::pool) continue;
    const bool is_last = n + 1 == net.layers.size();
    const Extent divisor = layer.kind == ConvolutionalLayer::Kind::convolution ? by.channels
                           : is_last                                           ? by.classes
                                                                               : by.neurons;
    if (divisor < 1 || divisor > layer.features) {
      core::fail(ErrorKind::shape, where, "layer ", n + 1, " of ", layer.features,
                 " features is divided by ", divisor,
                 " (each layer keeps at least one); give a divisor of 1 to ", layer.features);
    }
    layer.features /= divisor;
  }
  return net;
}

/// AlexNet in one tower, for 1000 classes (Krizhevsky 2014).
[[nodiscard]] inline ConvolutionalNet alexnet(Extent batch) {
  using namespace models;
  return {batch,
          3,
          227,
          {convolve(96, 11, 4), pool(3, 2), convolve(256, 5, 1, 2), pool(3, 2),
           convolve(384, 3, 1, 1), convolve(384, 3, 1, 1), convolve(256, 3, 1, 1), pool(3, 2),
           dense(4096), dense(4096), dense(1000)}};
}

/// VGG with 16 layers of weights, for 1000 classes (Simonyan and Zisserman 2014).
[[nodiscard]] inline ConvolutionalNet vgg16(Extent batch) {
  using namespace models;
  ConvolutionalNet net{batch, 3, 224, {}};
  for (const auto& [features, count] :
       {std::pair<Extent, int>{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
    for (int n = 0; n < count; ++n) net.layers.push_back(convolve(features, 3, 1, 1));
    net.layers.push_back(pool(2, 2));
  }
  for (Extent features : {4096, 4096, 1000}) net.layers.push_back(dense(features));
  return net;
}

/// SoyBean's five convolutions of one size (its section 6.2), 3 by 3 filters between as many
/// channels as there are filters.
[[nodiscard]] inline ConvolutionalNet soybean_cnn(Extent image, Extent filters, Extent batch) {
  return {batch, filters, image,
          std::vector<ConvolutionalLayer>(5, models::convolve(filters, 3, 1, 1))};
}

/// The tensors of a convolutional network. The output's rank depends on the last layer.
template <class T, class Backend>
struct ConvolutionalTensors {
  Symbol<T, 4, Backend> input;     ///< X, batch by channels by rows by columns
  std::vector<AnySymbol> weights;  ///< W1, W2, …; pools have none
  AnySymbol output;                ///< what the last layer gives
};

/// One step of its training.
template <class T, class Backend>
using ConvolutionalTraining = TrainingStep<Symbol<T, 4, Backend>, AnySymbol, AnySymbol>;

namespace models {

/// Writes one network into a program, and its gradients. In every statement b is the batch, c and o
/// are channels, y and x rows and columns of images, r and s those of windows, f and g neurons.
template <class T, class Backend>
class ConvolutionalWriter {
  using Image = Symbol<T, 4, Backend>;  // batch, channels, rows, columns; or filters
  using Rows = Symbol<T, 2, Backend>;   // batch, neurons
  using Kind = ConvolutionalLayer::Kind;

 public:
  ConvolutionalWriter(BasicProgram<Backend>& program, const ConvolutionalNet& net)
      : m_program(program), m_net(net) {
    check_layers(net);
  }

  /// X, the weights, and the network's output.
  ConvolutionalTensors<T, Backend> forward() {
    using namespace labels;
    const Image input =
        m_program.template input<T>("X", {m_net.batch, m_net.channels, m_net.image, m_net.image});
    m_output = input.vertex();
    for (std::size_t l = 0; l < m_net.layers.size(); ++l) add(m_net.layers[l], l + 1);
    m_program.role(b, "batch");
    const auto is_hidden = [&](auto... label) { (m_program.role(label, "hidden"), ...); };
    is_hidden(c, o, f, g);
    const auto is_uncut = [&](auto... label) { (m_program.uncut(label), ...); };
    if (!m_net.cut_images) is_uncut(y, x, r, s);
    ConvolutionalTensors<T, Backend> made{input, {}, any(m_output)};
    for (VertexId w : m_weights) made.weights.push_back(any(w));
    return made;
  }

  /// The statements after forward() that bring every weight W to W - rate · dW.
  ConvolutionalTraining<T, Backend> backward(const ConvolutionalTensors<T, Backend>& net, T rate,
                                             std::source_location where) {
    using namespace labels;
    const std::vector<Extent> bound = m_program.graph()[m_output].bound;
    ConvolutionalTraining<T, Backend> step{net.input, net.output, net.output, {}};
    std::vector<VertexId> next;
    if (is_image(m_output)) {
      const Image says = image(m_output);
      const Image target =
          m_program.template input<T>("T", {bound[0], bound[1], bound[2], bound[3]});
      const Image error = let<"E">(b, o, y, x) = says(b, o, y, x) - target(b, o, y, x);
      step.target = any(target.vertex());
      next = descend(says, error, m_weights, rate, where);
    } else {
      const Rows says = rows(m_output);
      const Rows target = m_program.template input<T>("T", {bound[0], bound[1]});
      const Rows error = let<"E">(b, f) = says(b, f) - target(b, f);
      step.target = any(target.vertex());
      next = descend(says, error, m_weights, rate, where);
    }
    for (std::size_t n = 0; n < next.size(); ++n) {
      step.updates.push_back({any(m_weights[n]), any(next[n])});
    }
    return step;
  }

 private:
  /// Refuses layers that have no image to work on.
  static void check_layers(const ConvolutionalNet& net) {
    if (net.layers.empty() || net.layers.front().kind == Kind::dense) {
      core::fail(ErrorKind::shape,
                 "a convolutional network begins with no image (its first layer is dense, or it "
                 "has none); give a convolution or a pool first");
    }
    bool is_dense = false;
    Extent image = net.image;
    for (std::size_t l = 0; l < net.layers.size(); ++l) {
      const ConvolutionalLayer& layer = net.layers[l];
      const Text number = Text("layer ") + (l + 1) + " of a convolutional network ";
      if (layer.kind == Kind::dense) {
        is_dense = true;
        continue;
      }
      if (is_dense) {
        core::fail(ErrorKind::shape,
                   number +
                       "is a convolution or a pool behind a dense layer (which leaves no "
                       "image); give dense layers last");
      }
      if (layer.window < 1 || layer.stride < 1 || layer.padding < 0) {
        core::fail(ErrorKind::shape, number + "has windows of " + layer.window + ", a stride of " +
                                         layer.stride + " and a padding of " + layer.padding +
                                         " (windows and strides are at least 1, paddings 0); give "
                                         "others");
      }
      if (layer.kind == Kind::pool && layer.padding != 0) {
        core::fail(ErrorKind::shape, number + "is a pool with a padding of " + layer.padding +
                                         " (paddings are zeros, of convolutions); give a pool "
                                         "none");
      }
      if (image + 2 * layer.padding < layer.window) {
        core::fail(ErrorKind::shape, number + "has windows of " + layer.window +
                                         " rows and an image of " + image + " padded by " +
                                         layer.padding +
                                         " (no window fits); give it a larger image or padding");
      }
      image = (image + 2 * layer.padding - layer.window) / layer.stride + 1;
    }
  }

  [[nodiscard]] bool is_image(VertexId v) const { return m_program.graph()[v].rank() == 4; }
  [[nodiscard]] Image image(VertexId v) const { return {m_program.state(), v}; }
  [[nodiscard]] Rows rows(VertexId v) const { return {m_program.state(), v}; }
  [[nodiscard]] AnySymbol any(VertexId v) const { return {m_program.graph(), v}; }
  [[nodiscard]] Extent extent_of(VertexId v, std::size_t dimension) const {
    return m_program.graph()[v].bound[dimension];
  }
  [[nodiscard]] Text name(const char* what) const { return Text(what) + m_suffix; }

  void add(const ConvolutionalLayer& layer, std::size_t number) {
    m_suffix = core::to_text(static_cast<long long>(number));
    switch (layer.kind) {
      case Kind::convolution:
        add_convolution(layer);
        break;
      case Kind::pool:
        return add_pool(layer);
      case Kind::dense:
        add_dense(layer);
        break;
    }
    if (number < m_net.layers.size()) add_relu();
  }

  void add_convolution(const ConvolutionalLayer& layer) {
    using namespace labels;
    const Image in = image(m_output);
    const Image w = m_program.template input<T>(
        name("W"), {layer.features, extent_of(m_output, 1), layer.window, layer.window});
    m_weights.push_back(w.vertex());
    const Extent step = layer.stride;
    const Extent pad = layer.padding;
    m_output = (let(name("Z"))(b, o, y, x) =
                    sum(c, r, s)(in(b, c, step * y + r - pad, step * x + s - pad) * w(o, c, r, s)))
                   .vertex();
  }

  void add_pool(const ConvolutionalLayer& layer) {
    using namespace labels;
    const Image in = image(m_output);
    const Extent step = layer.stride;
    const Extent window = layer.window;
    m_output = (let(name("pool"))(b, c, y, x) =
                    max(r, s)(in(b, c, step * y + extent(r, window), step * x + extent(s, window))))
                   .vertex();
  }

  void add_dense(const ConvolutionalLayer& layer) {
    using namespace labels;
    const VertexId v = m_output;
    if (is_image(v)) {
      const Image w = m_program.template input<T>(
          name("W"), {extent_of(v, 1), extent_of(v, 2), extent_of(v, 3), layer.features});
      m_weights.push_back(w.vertex());
      m_output =
          (let(name("Z"))(b, f) = sum(c, y, x)(image(v)(b, c, y, x) * w(c, y, x, f))).vertex();
    } else {
      const Rows w = m_program.template input<T>(name("W"), {extent_of(v, 1), layer.features});
      m_weights.push_back(w.vertex());
      m_output = (let(name("Z"))(b, g) = sum(f)(rows(v)(b, f) * w(f, g))).vertex();
    }
  }

  void add_relu() {
    using namespace labels;
    const VertexId v = m_output;
    m_output = is_image(v) ? (let(name("A"))(b, o, y, x) = relu(image(v)(b, o, y, x))).vertex()
                           : (let(name("A"))(b, f) = relu(rows(v)(b, f))).vertex();
  }

  BasicProgram<Backend>& m_program;
  ConvolutionalNet m_net;
  VertexId m_output = -1;  // of the layers so far
  std::vector<VertexId> m_weights;
  Text m_suffix;
};

}  // namespace models

/// Writes a network into a program: inputs X (batch by channels by rows by columns), W1, W2, … (of
/// convolutions filters by channels by rows by columns; of dense layers what they see, by neurons);
/// label b has the role batch, channels and neurons the role hidden.
///
/// \returns the symbols of X, of the weights and of the network's output.
/// \throws Error if the network begins without an image or has an image layer behind a dense one,
///   if no window of a layer fits into its image, an extent is not positive or a name is taken.
template <class T = float, class Backend>
ConvolutionalTensors<T, Backend> convolutional(BasicProgram<Backend>& program,
                                               const ConvolutionalNet& net) {
  return models::ConvolutionalWriter<T, Backend>(program, net).forward();
}

/// Writes one step of training by gradient descent into a program that can be differentiated: the
/// network, its difference E to the target T, the gradients of half the squared error, every
/// weight's next value W'.
///
/// \returns the symbols of X, T, the network's output, and per weight its own and its next
/// value's. \throws Error as convolutional.
template <class T = float, class Backend>
ConvolutionalTraining<T, Backend> convolutional_training(
    BasicProgram<Backend>& program, const ConvolutionalNet& net, T rate = T(0.01),
    std::source_location where = std::source_location::current()) {
  models::ConvolutionalWriter<T, Backend> writer(program, net);
  return writer.backward(writer.forward(), rate, where);
}

}  // namespace eindecomp
