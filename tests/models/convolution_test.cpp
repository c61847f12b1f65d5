// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/models/convolution.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/numbers.hpp"
#include "support/messages.hpp"

using namespace eindecomp;
using namespace eindecomp_tests;

namespace {

/// The multiplications of convolutions and dense layers for one image, and the weights.
struct Size {
  Extent multiplications = 0;
  Extent weights = 0;
  std::ptrdiff_t statements = 0;
};

Size size_of(const EinGraph& graph) {
  Size size;
  for (const Vertex& v : graph.vertices) {
    if (v.is_input() && v.name != "X") size.weights += v.size();
    if (v.op.aggregate == "sum") size.multiplications += points(v);
    if (!v.is_input()) ++size.statements;
  }
  return size;
}

EinGraph written(const ConvolutionalNet& net) {
  PlanProgram program;
  convolutional(program, net);
  return program.graph();
}

bool is_uncut(const EinGraph& graph, char label) {
  return graph.labels[static_cast<std::size_t>(graph.find_label(std::string(1, label)))].uncut;
}

}  // namespace

TEST_CASE("AlexNet has its figures") {
  const EinGraph graph = written(alexnet(1));
  const Size size = size_of(graph);
  CHECK(size.multiplications == 1'135'256'096);
  CHECK(size.weights == 62'367'776);
  // Eight layers, seven relus, three pools.
  CHECK(size.statements == 8 + 7 + 3);
  CHECK(graph[graph.results().front()].bound == std::vector<Extent>{1, 1000});
  CHECK(size_of(written(alexnet(256))).multiplications == 256 * size.multiplications);
}

TEST_CASE("a narrowed network has fewer features on other images") {
  const auto features = [](const ConvolutionalNet& net) {
    std::vector<Extent> all;
    for (const ConvolutionalLayer& layer : net.layers) {
      if (layer.kind != ConvolutionalLayer::Kind::pool) all.push_back(layer.features);
    }
    return all;
  };
  const ConvolutionalNet net =
      narrowed(alexnet(2), {.image = 67, .channels = 16, .neurons = 128, .classes = 100});
  CHECK(features(net) == std::vector<Extent>{6, 16, 24, 24, 16, 32, 32, 10});
  CHECK(net.image == 67);
  CHECK(net.batch == 2);
  CHECK(written(net)[written(net).results().front()].bound == std::vector<Extent>{2, 10});
  CHECK(message_here([] { (void)narrowed(alexnet(2), {.image = 67, .channels = 97}); }) ==
        "EinDecomp: layer 1 of 96 features is divided by 97 (each layer keeps at least one); give "
        "a divisor of 1 to 96");
  CHECK(message_here([] { (void)narrowed(alexnet(2), {.image = 67, .classes = 0}); }) ==
        "EinDecomp: layer 11 of 1000 features is divided by 0 (each layer keeps at least one); "
        "give a divisor of 1 to 1000");
}

TEST_CASE("VGG-16 has its figures") {
  const EinGraph graph = written(vgg16(1));
  const Size size = size_of(graph);
  CHECK(size.multiplications == 15'470'264'320);
  CHECK(size.weights == 138'344'128);
  CHECK(size.statements == 16 + 15 + 5);
  CHECK(graph[graph.find("pool18")].bound == std::vector<Extent>{1, 512, 7, 7});
}

TEST_CASE("SoyBean's networks are five convolutions of one size") {
  const EinGraph small = written(soybean_cnn(6, 2048, 256));
  CHECK(size_of(small).multiplications == 5 * 256 * 36LL * 2048 * 2048 * 9);
  CHECK(size_of(small).weights == 5 * 2048LL * 2048 * 9);
  const EinGraph large = written(soybean_cnn(24, 512, 256));
  CHECK(size_of(large).multiplications == 5 * 256 * 576LL * 512 * 512 * 9);
}

TEST_CASE("images and filters are cut unless they are to stay whole, batch and channels always") {
  for (char label : std::string("yxrs")) CHECK_FALSE(is_uncut(written(alexnet(1)), label));
  ConvolutionalNet net = alexnet(1);
  net.cut_images = false;
  const EinGraph graph = written(net);
  for (char label : std::string("yxrs")) CHECK(is_uncut(graph, label));
  for (char label : std::string("bcofg")) CHECK_FALSE(is_uncut(graph, label));
  CHECK(graph.labels[static_cast<std::size_t>(graph.find_label("b"))].role == "batch");
  for (const char* label : {"c", "o", "f", "g"}) {
    CHECK(graph.labels[static_cast<std::size_t>(graph.find_label(label))].role == "hidden");
  }
}

TEST_CASE("training writes a gradient and an update for every weight") {
  DifferentiablePlanProgram program;
  const auto step = convolutional_training(program, alexnet(2));
  const EinGraph& graph = program.graph();
  CHECK(step.updates.size() == 8);
  for (const auto& update : step.updates) {
    CHECK(graph[update.weight.vertex()].is_input());
    CHECK(graph[update.weight.vertex()].bound == graph[update.next.vertex()].bound);
  }
  CHECK(graph[step.updates[0].weight.vertex()].name == "W1");
  CHECK(graph.find("dX") < 0);  // nothing needs the gradient of the images
  CHECK(graph.results().size() == 8);
  CHECK(step.carry().size() == 8);
  // A layer's work is done once forward, once for dW, and once for the gradient of what it reads,
  // at the image's positions in place of the windows'.
  const auto work = [&](const std::string& name) { return points(graph[graph.find(name)]); };
  for (int layer : {1, 3, 5, 6, 7, 9, 10, 11}) {
    CAPTURE(layer);
    const std::string number = std::to_string(layer);
    CHECK(work("dW" + number) == work("Z" + number));
  }
  const char* const read[][2] = {{"Z3", "dpool2"}, {"Z5", "dpool4"}, {"Z6", "dA5"},  {"Z7", "dA6"},
                                 {"Z9", "dpool8"}, {"Z10", "dA9"},   {"Z11", "dA10"}};
  for (const auto& [layer, gradient] : read) {
    CAPTURE(layer);
    CHECK(work(gradient) == work(layer));
  }
}

TEST_CASE("a pool's gradient goes where the maximum was") {
  // One window over the whole image: the same as a maximum.
  DifferentiablePlanProgram program;
  const ConvolutionalNet net{1, 1, 3, {models::convolve(1, 1), models::pool(3, 1)}};
  const auto step = convolutional_training<double>(program, net);
  Numbers numbers(program.graph(), 3);
  numbers["W1"].values = {2};
  numbers["T"].values = {0};
  numbers["X"].values = {1, 5, 2, 3, 4, 3, 0, 1, 2};
  const EinGraph& graph = program.graph();
  CHECK(numbers.of(step.output.vertex()).values == std::vector<double>{10});
  CHECK(numbers.of(graph.find("dA1")).values == std::vector<double>{0, 10, 0, 0, 0, 0, 0, 0, 0});
  // dW = 5 · 10
  CHECK(numbers.of(step.updates[0].next.vertex()).values[0] == doctest::Approx(2 - 0.01 * 50));
}

TEST_CASE("layers that no image survives are errors") {
  PlanProgram program;
  using namespace models;
  const auto refused = [&](std::vector<ConvolutionalLayer> layers, const char* sentence) {
    CHECK_THROWS_WITH_AS(convolutional(program, {1, 3, 6, std::move(layers)}),
                         doctest::Contains(sentence), Error);
  };
  refused({}, "with no image");
  refused({dense(4)}, "with no image");
  refused({convolve(4, 3), dense(4), pool(3, 2)},
          "layer 3 of a convolutional network is a convolution or a pool behind a dense layer");
  refused({convolve(4, 3), convolve(4, 5)},
          "layer 2 of a convolutional network has windows of 5 rows and an image of 4 padded by 0 "
          "(no window fits)");
  refused({convolve(4, 3, 0)},
          "layer 1 of a convolutional network has windows of 3, a stride of 0 and a padding of 0");
}
