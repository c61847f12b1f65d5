// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Convolutional networks as programs to plan: statements with the labels, extents and operations
/// of the net, windows without their shifts.
///
/// A convolution is written Y(b,o,y,x) = Σ X(b,c,y,x) · W(o,c,r,s) over c, r and s: every position
/// of the result meets every element of a filter, and an image counts as many positions as there
/// are windows on it. No label of an image or a filter's rows and columns may be cut (SoyBean,
/// section 4.4), so what a plan costs and moves is the net's. What a run would compute is not:
/// such a program can be planned, and an executor refuses it.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/config.hpp"
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
  Extent image = 0;     ///< rows and columns of the result; not of dense layers
  Extent window = 0;    ///< rows and columns of a filter
};

/// A network of square images: convolutions and pools, then dense layers, a relu after every layer
/// but pools and the last one.
struct ConvolutionalNet {
  Extent batch = 1;                        ///< images
  Extent channels = 3;                     ///< of the input
  std::vector<ConvolutionalLayer> layers;  ///< the first layer first
};

namespace models {
[[nodiscard]] constexpr ConvolutionalLayer convolve(Extent features, Extent image, Extent window) {
  return {ConvolutionalLayer::Kind::convolution, features, image, window};
}
[[nodiscard]] constexpr ConvolutionalLayer pool(Extent image) {
  return {ConvolutionalLayer::Kind::pool, 0, image, 0};
}
[[nodiscard]] constexpr ConvolutionalLayer dense(Extent features) {
  return {ConvolutionalLayer::Kind::dense, features, 0, 0};
}
}  // namespace models

/// AlexNet in one tower, for 1000 classes.
[[nodiscard]] inline ConvolutionalNet alexnet(Extent batch) {
  using namespace models;
  return {
      batch,
      3,
      {convolve(96, 55, 11), pool(27), convolve(256, 27, 5), pool(13), convolve(384, 13, 3),
       convolve(384, 13, 3), convolve(256, 13, 3), pool(6), dense(4096), dense(4096), dense(1000)}};
}

/// VGG with 16 layers of weights, for 1000 classes.
[[nodiscard]] inline ConvolutionalNet vgg16(Extent batch) {
  using namespace models;
  ConvolutionalNet net{batch, 3, {}};
  Extent image = 224;
  for (const auto& [features, count] :
       {std::pair<Extent, int>{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
    for (int n = 0; n < count; ++n) net.layers.push_back(convolve(features, image, 3));
    image /= 2;
    net.layers.push_back(pool(image));
  }
  for (Extent features : {4096, 4096, 1000}) net.layers.push_back(dense(features));
  return net;
}

/// SoyBean's five convolutions of one size (its section 6.2), 3 by 3 filters between as many
/// channels as there are filters.
[[nodiscard]] inline ConvolutionalNet soybean_cnn(Extent image, Extent filters, Extent batch) {
  return {batch, filters, std::vector<ConvolutionalLayer>(5, models::convolve(filters, image, 3))};
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

/// The product of a convolution. Its windows shift, so a filter's sum cannot be taken first: a name
/// of its own keeps the rewrites for products away.
struct Convolve {
  static constexpr std::string_view name = "convolve";
  template <class A>
  EINDECOMP_FUNCTION constexpr A operator()(const A& pixel, const A& weight) const {
    return pixel * weight;
  }
};

/// Writes one network into a program, and its gradients. In every statement b is the batch, c and o
/// are channels, y and x rows and columns of images, p and q those of smaller ones, r and s those
/// of filters, f and g neurons.
template <class T, class Backend>
class ConvolutionalWriter {
  using Image = Symbol<T, 4, Backend>;  // batch, channels, rows, columns; or a filter
  using Rows = Symbol<T, 2, Backend>;   // batch, neurons
  using Kind = ConvolutionalLayer::Kind;

 public:
  ConvolutionalWriter(BasicProgram<Backend>& program, const ConvolutionalNet& net)
      : m_program(program), m_net(net) {
    check_order(net);
  }

  /// X, the weights, and what the network says.
  ConvolutionalTensors<T, Backend> forward() {
    using namespace labels;
    m_program.plan_only("the windows of its convolutions and pools do not shift");
    const Extent image = m_net.layers.front().image;
    VertexId v =
        m_program.template input<T>("X", {m_net.batch, m_net.channels, image, image}).vertex();
    for (std::size_t l = 0; l < m_net.layers.size(); ++l) {
      Layer layer{v, -1, -1, -1};
      add(m_net.layers[l], layer, l + 1);
      m_layers.push_back(layer);
      v = layer.output;
    }
    m_program.role(b, "batch");
    const auto is_hidden = [&](auto... label) { (m_program.role(label, "hidden"), ...); };
    is_hidden(c, o, f, g);
    const auto is_uncut = [&](auto... label) { (m_program.uncut(label), ...); };
    is_uncut(y, x, p, q, r, s);
    ConvolutionalTensors<T, Backend> made{this->image(m_layers.front().input), {}, any(v)};
    for (const Layer& layer : m_layers) {
      if (layer.weight >= 0) made.weights.push_back(any(layer.weight));
    }
    return made;
  }

  /// The statements after forward() that bring every weight W to W - rate · dW.
  ConvolutionalTraining<T, Backend> backward(VertexId output, T rate) {
    const VertexId target = target_of(output);
    VertexId error = difference(output, target);
    ConvolutionalTraining<T, Backend> step{
        image(m_layers.front().input), any(target), any(output), {}};
    for (std::size_t l = m_layers.size(); l-- > 0;) {
      const Layer& layer = m_layers[l];
      m_suffix = core::to_text(static_cast<long long>(l + 1));
      if (layer.weight >= 0) {
        const VertexId gradient = weight_gradient(layer, error);
        step.updates.insert(step.updates.begin(),
                            {any(layer.weight), any(updated(layer, gradient, rate))});
      }
      if (l == 0) break;
      error = input_gradient(layer, error);
      if (m_net.layers[l - 1].kind != Kind::pool) error = behind_relu(layer.input, error);
    }
    return step;
  }

 private:
  /// The tensors of one layer.
  struct Layer {
    VertexId input;
    VertexId weight;  // -1 of a pool
    VertexId half;    // of a pool: its rows pooled, its columns not yet
    VertexId output;
  };

  static void check_order(const ConvolutionalNet& net) {
    bool rows = net.layers.empty() || net.layers.front().kind == Kind::dense;
    if (rows) {
      core::fail(
          ErrorKind::shape,
          "a convolutional network begins with no image (its first layer is dense, or it has "
          "none); "
          "give a convolution or a pool first");
    }
    Extent image = net.layers.front().image;
    for (const ConvolutionalLayer& layer : net.layers) {
      if (rows && layer.kind != Kind::dense) {
        core::fail(
            ErrorKind::shape,
            "a convolutional network has a convolution or a pool behind a dense layer (which "
            "leaves no image); give dense layers last");
      }
      if (layer.kind == Kind::convolution && layer.image != image) {
        core::fail(ErrorKind::shape, Text("a convolution makes images of ") + layer.image +
                                         " rows from such of " + image +
                                         " (only pools change them); give it " + image);
      }
      rows = layer.kind == Kind::dense;
      if (!rows) image = layer.image;
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

  void add(const ConvolutionalLayer& layer, Layer& made, std::size_t number) {
    m_suffix = core::to_text(static_cast<long long>(number));
    if (layer.kind == Kind::pool) return add_pool(layer, made);
    layer.kind == Kind::convolution ? add_convolution(layer, made) : add_dense(layer, made);
    if (number < m_net.layers.size()) made.output = relu_of(made.output);
  }

  void add_convolution(const ConvolutionalLayer& layer, Layer& made) {
    using namespace labels;
    const Image in = image(made.input);
    const Image w = m_program.template input<T>(
        name("W"), {layer.features, extent_of(made.input, 1), layer.window, layer.window});
    made.weight = w.vertex();
    made.output =
        (let(name("Z"))(b, o, y, x) = sum(c, r, s)(join(Convolve{}, in(b, c, y, x), w(o, c, r, s))))
            .vertex();
  }

  /// The maximum over the windows' rows, then over their columns.
  void add_pool(const ConvolutionalLayer& layer, Layer& made) {
    using namespace labels;
    const Image in = image(made.input);
    const Image half = let(name("pool_rows"))(b, c, extent(p, layer.image), x) =
        max(y)(in(b, c, y, x));
    made.half = half.vertex();
    made.output =
        (let(name("pool"))(b, c, p, extent(q, layer.image)) = max(x)(half(b, c, p, x))).vertex();
  }

  void add_dense(const ConvolutionalLayer& layer, Layer& made) {
    using namespace labels;
    const VertexId v = made.input;
    if (is_image(v)) {
      const Image w = m_program.template input<T>(
          name("W"), {extent_of(v, 1), extent_of(v, 2), extent_of(v, 3), layer.features});
      made.weight = w.vertex();
      made.output =
          (let(name("Z"))(b, f) = sum(c, y, x)(image(v)(b, c, y, x) * w(c, y, x, f))).vertex();
    } else {
      const Rows w = m_program.template input<T>(name("W"), {extent_of(v, 1), layer.features});
      made.weight = w.vertex();
      made.output = (let(name("Z"))(b, g) = sum(f)(rows(v)(b, f) * w(f, g))).vertex();
    }
  }

  VertexId relu_of(VertexId v) {
    using namespace labels;
    if (is_image(v)) {
      return (let(name("A"))(b, o, y, x) = eindecomp::relu(image(v)(b, o, y, x))).vertex();
    }
    return (let(name("A"))(b, f) = eindecomp::relu(rows(v)(b, f))).vertex();
  }

  /// An input of an output's shape.
  VertexId target_of(VertexId v) {
    const std::vector<Extent> bound = m_program.graph()[v].bound;
    if (!is_image(v)) return m_program.template input<T>("T", {bound[0], bound[1]}).vertex();
    return m_program.template input<T>("T", {bound[0], bound[1], bound[2], bound[3]}).vertex();
  }

  /// What the network says, less the target.
  VertexId difference(VertexId v, VertexId t) {
    using namespace labels;
    if (is_image(v)) {
      return (let<"E">(b, o, y, x) = image(v)(b, o, y, x) - image(t)(b, o, y, x)).vertex();
    }
    return (let<"E">(b, f) = rows(v)(b, f) - rows(t)(b, f)).vertex();
  }

  VertexId weight_gradient(const Layer& layer, VertexId error) {
    using namespace labels;
    const VertexId v = layer.input;
    if (is_image(error)) {
      const Extent window = extent_of(layer.weight, 2);
      return (let(name("dW"))(o, c, extent(r, window), extent(s, window)) =
                  sum(b, y, x)(join(Convolve{}, image(v)(b, c, y, x), image(error)(b, o, y, x))))
          .vertex();
    }
    if (is_image(v)) {
      return (let(name("dW"))(c, y, x, f) = sum(b)(image(v)(b, c, y, x) * rows(error)(b, f)))
          .vertex();
    }
    return (let(name("dW"))(f, g) = sum(b)(rows(v)(b, f) * rows(error)(b, g))).vertex();
  }

  VertexId updated(const Layer& layer, VertexId gradient, T rate) {
    using namespace labels;
    if (is_image(gradient)) {
      return (let(name("W'"))(o, c, r, s) =
                  image(layer.weight)(o, c, r, s) - rate * image(gradient)(o, c, r, s))
          .vertex();
    }
    return (let(name("W'"))(f, g) = rows(layer.weight)(f, g) - rate * rows(gradient)(f, g))
        .vertex();
  }

  VertexId input_gradient(const Layer& layer, VertexId error) {
    using namespace labels;
    if (layer.weight < 0) return pool_gradient(layer, error);
    if (is_image(error)) {
      return (let(name("dX"))(b, c, y, x) = sum(o, r, s)(
                  join(Convolve{}, image(error)(b, o, y, x), image(layer.weight)(o, c, r, s))))
          .vertex();
    }
    if (is_image(layer.input)) {
      return (let(name("dX"))(b, c, y, x) =
                  sum(f)(rows(error)(b, f) * image(layer.weight)(c, y, x, f)))
          .vertex();
    }
    return (let(name("dX"))(b, f) = sum(g)(rows(error)(b, g) * rows(layer.weight)(f, g))).vertex();
  }

  /// The error goes where the maximum was.
  VertexId pool_gradient(const Layer& layer, VertexId error) {
    using namespace labels;
    const Image in = image(layer.input);
    const Image half = image(layer.half);
    const Image out = image(layer.output);
    const Image columns = let(name("dX_columns"))(b, c, p, x) =
        sum(q)(select(half(b, c, p, x) == out(b, c, p, q), image(error)(b, c, p, q), T(0)));
    return (let(name("dX"))(b, c, y, x) =
                sum(p)(select(in(b, c, y, x) == half(b, c, p, x), columns(b, c, p, x), T(0))))
        .vertex();
  }

  VertexId behind_relu(VertexId v, VertexId error) {
    using namespace labels;
    if (is_image(v)) {
      return (let(name("dZ"))(b, c, y, x) =
                  select(image(v)(b, c, y, x) > T(0), image(error)(b, c, y, x), T(0)))
          .vertex();
    }
    return (let(name("dZ"))(b, f) = select(rows(v)(b, f) > T(0), rows(error)(b, f), T(0))).vertex();
  }

  BasicProgram<Backend>& m_program;
  ConvolutionalNet m_net;
  std::vector<Layer> m_layers;
  Text m_suffix;
};

}  // namespace models

/// Writes a network into a program: inputs X (batch by channels by the first layer's rows and
/// columns), W1, W2, …; label b has the role batch, channels and neurons the role hidden, rows and
/// columns are uncut. The program can be planned but not executed, for windows do not shift.
///
/// \returns the symbols of X, of the weights and of what the network says.
/// \throws Error if the network begins without an image or has an image layer behind a dense one,
///   if an image changes its size but by a pool, an extent is not positive or a name is taken.
template <class T = float, class Backend>
ConvolutionalTensors<T, Backend> convolutional(BasicProgram<Backend>& program,
                                               const ConvolutionalNet& net) {
  return models::ConvolutionalWriter<T, Backend>(program, net).forward();
}

/// Writes one step of training by gradient descent: the network, the difference to the target T,
/// the gradients by hand, every weight's next value W'. The gradient of X is left out.
///
/// \returns the symbols of X, T, what the network says, and per weight its own and its next
/// value's. \throws Error as convolutional.
template <class T = float, class Backend>
ConvolutionalTraining<T, Backend> convolutional_training(BasicProgram<Backend>& program,
                                                         const ConvolutionalNet& net,
                                                         T rate = T(0.01)) {
  models::ConvolutionalWriter<T, Backend> writer(program, net);
  return writer.backward(writer.forward().output.vertex(), rate);
}

}  // namespace eindecomp
