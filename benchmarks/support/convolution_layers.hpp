// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The convolutional layers of AlexNet (Krizhevsky, "One weird trick for parallelizing convolutional
// neural networks": one tower) and of VGG-16 (Simonyan and Zisserman), those of one shape once.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "eindecomp/core/types.hpp"

namespace benchmark_layers {

using eindecomp::Extent;

/// Square windows on images of (batch, channels, height, width).
struct Layer {
  std::string name;
  Extent batch;
  Extent channels;
  Extent height;
  Extent width;
  Extent filters;
  Extent window;
  Extent stride;
  Extent padding;

  [[nodiscard]] Extent rows() const { return (height + 2 * padding - window) / stride + 1; }
  [[nodiscard]] Extent columns() const { return (width + 2 * padding - window) / stride + 1; }
  /// Multiplications, those with padding included.
  [[nodiscard]] double joins() const {
    return static_cast<double>(batch * channels * filters) *
           static_cast<double>(rows() * columns() * window * window);
  }
};

/// What is computed of a layer: its outputs, or the gradient of its images or of its filters.
enum class Direction { forward, images, filters };
inline constexpr std::array directions{Direction::forward, Direction::images, Direction::filters};

[[nodiscard]] constexpr std::string_view to_string(Direction direction) {
  switch (direction) {
    case Direction::forward:
      return "forward";
    case Direction::images:
      return "images";
    case Direction::filters:
      return "filters";
  }
  return "";
}

[[nodiscard]] inline std::vector<Layer> layers(Extent alexnet_batch, Extent vgg_batch) {
  std::vector<Layer> all;
  const auto add = [&all](const char* network, Extent batch, Extent channels, Extent side,
                          Extent filters, Extent window, Extent stride, Extent padding) {
    all.push_back({std::string(network) + ' ' + std::to_string(channels) + "->" +
                       std::to_string(filters) + ' ' + std::to_string(side) + ' ' +
                       std::to_string(window) + '/' + std::to_string(stride),
                   batch, channels, side, side, filters, window, stride, padding});
  };
  add("AlexNet", alexnet_batch, 3, 227, 96, 11, 4, 0);
  add("AlexNet", alexnet_batch, 96, 27, 256, 5, 1, 2);
  add("AlexNet", alexnet_batch, 256, 13, 384, 3, 1, 1);
  add("AlexNet", alexnet_batch, 384, 13, 384, 3, 1, 1);
  add("AlexNet", alexnet_batch, 384, 13, 256, 3, 1, 1);
  const auto vgg = [&](Extent channels, Extent side, Extent filters) {
    add("VGG", vgg_batch, channels, side, filters, 3, 1, 1);
  };
  vgg(3, 224, 64);
  vgg(64, 224, 64);
  vgg(64, 112, 128);
  vgg(128, 112, 128);
  vgg(128, 56, 256);
  vgg(256, 56, 256);
  vgg(256, 28, 512);
  vgg(512, 28, 512);
  vgg(512, 14, 512);
  return all;
}

}  // namespace benchmark_layers
