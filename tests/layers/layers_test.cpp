#include "cohort/layers/layers.h"

#include <gtest/gtest.h>

#include "cohort/autodiff/tape.h"
#include "cohort/core/random.h"
#include "cohort/graph/function.h"
#include "cohort/model/regularizers.h"
#include "cohort/ops/reduce.h"
#include "cohort/saving/config_json.h"
#include "cohort/variables/initializers.h"
#include "tests/layers/counting.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

Tensor layer_floats(std::vector<float> values, const Shape& shape) { return Tensor::of(values, shape); }
TEST(Dense, ComputesAffineMapsOfAnyRank) {
  const Dense dense(2, {.activation = "relu", .kernel_initializer = initializers::Constant(0.5), .name = "mine"});
  const Tensor y = dense(layer_floats({1, 2, 3, -4, 0, 0}, {2, 3}));
  test::expect_tensor(y, DType::Float32, {2, 2}, {3, 3, 0, 0});
  ASSERT_EQ(dense->weights().size(), 2u);
  EXPECT_EQ(dense->weights()[0].name(), "kernel");
  EXPECT_EQ(dense->weights()[1].name(), "bias");
  EXPECT_EQ(dense->name(), "mine");
  test::expect_tensor(dense(counting({2, 2, 3})), DType::Float32, {2, 2, 2}, {1.5, 1.5, 6, 6, 10.5, 10.5, 15, 15});
}

TEST(Dense, WrongShapesAreErrorsThatNameTheLayer) {
  test::expect_error(
      [] {
        Dense(2, {.name = "first"})(layer_floats({1, 2}, {2}));
      },
      {"Dense 'first'", "at least 2 axes", "input.shape=(2,)"});
  const Dense dense(2, {.name = "second"});
  dense(counting({2, 3}));
  test::expect_error([&] { dense(counting({2, 4})); }, {"Dense 'second'", "size 3", "(2, 4)"});
  test::expect_error([] { Dense(0); }, {"units", "0"});
}

TEST(Dense, RegularizersBecomeLosses) {
  const Dense dense(1, {.kernel_initializer = "ones",
                        .kernel_regularizer = regularizers::L2(0.5),
                        .activity_regularizer = regularizers::L1(1.0)});
  dense(layer_floats({1, 2, 3, 4}, {2, 2}));
  double sum = 0;
  for (const Tensor& loss : dense->losses()) sum += loss.item<double>();
  EXPECT_NEAR(sum, 0.5 * 2 + (3 + 7) / 2.0, 1e-6);
}

TEST(Reshaping, ShapesChangeAndValuesStay) {
  test::expect_tensor(Flatten()(counting({2, 2, 2})), DType::Float32, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  test::expect_tensor(Flatten({.data_format = "channels_first"})(counting({1, 2, 2})), DType::Float32, {1, 4},
                      {0, 2, 1, 3});
  EXPECT_EQ(Reshape({-1, 3})(counting({2, 6, 2})).shape(), Shape({2, 4, 3}));
  test::expect_tensor(Permute({2, 1})(counting({1, 2, 3})), DType::Float32, {1, 3, 2}, {0, 3, 1, 4, 2, 5});
  test::expect_tensor(RepeatVector(2)(counting({1, 3})), DType::Float32, {1, 2, 3}, {0, 1, 2, 0, 1, 2});
  test::expect_error([] { Reshape({5})(counting({2, 6})); }, {"Reshape 'reshape", "(2, 6)", "(5,)"});
  test::expect_error([] { Permute({1, 3}); }, {"dims"});
  test::expect_error([] { RepeatVector(2)(counting({1, 2, 3})); }, {"2 axes", "(1, 2, 3)"});
}

TEST(Reshaping, UnknownBatchesTrace) {
  const Flatten flatten;
  const Reshape reshape({-1, 2});
  const Function traced = function([&](const Tensor& x) { return reshape(flatten(x)); },
                                   {.input_signature = {{float32, {kUnknown, 2, 2}}}});
  EXPECT_EQ(Tensor(traced(counting({3, 2, 2}))).shape(), Shape({3, 2, 2}));
}

TEST(Rescaling, TurnsBytesIntoFloats) {
  const Tensor bytes = Tensor::of<std::uint8_t>({0, 51, 255}, {1, 3});
  test::expect_tensor(Rescaling(1.0 / 255)(bytes), DType::Float32, {1, 3}, {0, 0.2, 1});
  test::expect_tensor(Rescaling(2.0, {.offset = 1.0})(bytes), DType::Float32, {1, 3}, {1, 103, 511});
  test::expect_tensor(Rescaling({1, 2, 3}, {.offset = {0, 1, -1}})(bytes), DType::Float32, {1, 3}, {0, 103, 764});
}

TEST(Dropout, DropsInTrainingOnly) {
  const Dropout dropout(0.25, {.seed = 3});
  const Tensor ones = Tensor::full({100, 50}, 1.0);
  test::expect_values(dropout(ones), std::vector<double>(5000, 1.0), 0);
  const std::vector<float> dropped = dropout(ones, {.training = true}).to_vector<float>();
  const auto zeros = std::count(dropped.begin(), dropped.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(zeros) / 5000, 0.25, 0.03);
  for (float value : dropped) EXPECT_TRUE(value == 0.0f || std::abs(value - 4.0f / 3.0f) < 1e-6f);
}

TEST(Dropout, ASeedRepeatsItsChoices) {
  set_random_seed(1);
  const Tensor ones = Tensor::full({20, 10}, 1.0);
  const auto draw = [&](const Dropout& layer) { return layer(ones, {.training = true}).to_vector<float>(); };
  const Dropout first(0.5, {.seed = 9}), second(0.5, {.seed = 9}), other(0.5, {.seed = 10});
  const std::vector<float> one = draw(first), two = draw(first);
  EXPECT_EQ(draw(second), one);
  EXPECT_EQ(draw(second), two);
  EXPECT_NE(one, two);
  EXPECT_NE(draw(other), one);
}

TEST(Dropout, NoiseShapeDropsTogether) {
  const Dropout dropout(0.5, {.noise_shape = Shape{kUnknown, 1, 4}, .seed = 2});
  const std::vector<float> y = dropout(Tensor::full({8, 3, 4}, 1.0), {.training = true}).to_vector<float>();
  for (std::size_t batch = 0; batch < 8; ++batch) {
    for (std::size_t channel = 0; channel < 4; ++channel) {
      EXPECT_EQ(y[batch * 12 + channel], y[batch * 12 + 4 + channel]);
      EXPECT_EQ(y[batch * 12 + channel], y[batch * 12 + 8 + channel]);
    }
  }
  test::expect_error([] { Dropout(1.5); }, {"rate", "1.5"});
}

TEST(Activations, LayersApplyTheirFunction) {
  const Tensor x = layer_floats({-2, 0.5, 3, 1}, {1, 4});
  test::expect_values(layers::Activation("relu")(x), {0, 0.5, 3, 1}, 0);
  test::expect_values(ReLU({.max_value = 2.0, .negative_slope = 0.1})(x), {-0.2, 0.5, 2, 1}, 1e-6);
  test::expect_values(LeakyReLU()(x), {-0.6, 0.5, 3, 1}, 1e-6);
  test::expect_values(ELU({.alpha = 0.5})(x), {-0.43233236, 0.5, 3, 1}, 1e-6);
  test::expect_values(PReLU({.alpha_initializer = "ones"})(x), {-2, 0.5, 3, 1}, 0);
  const Tensor mask = Tensor::of<bool>({true, false, true, false}, {1, 4});
  test::expect_values(Softmax()(x, {.mask = mask}), {0.006692851, 0, 0.99330715, 0}, 1e-6);
}

TEST(Merging, InputsAreJoinedOrAdded) {
  const Tensors inputs = {counting({2, 2}), counting({2, 1})};
  test::expect_tensor(Concatenate()(inputs), DType::Float32, {2, 3}, {0, 1, 0, 2, 3, 1});
  test::expect_values(Add()(Tensors{counting({2, 2}), counting({2, 2})}), {0, 2, 4, 6}, 0);
  EXPECT_EQ(Add()(Tensors{counting({2, 3, 2}), counting({2, 2})}).shape(), Shape({2, 3, 2}));
  test::expect_error(
      [] {
        Concatenate({.axis = 0})(Tensors{counting({2, 2}), counting({2, 3})});
      },
      {"Concatenate", "(2, 2)", "(2, 3)"});
}

TEST(Convolution, AWindowOfOnesSums) {
  const Conv2D conv(1, 2, {.kernel_initializer = "ones"});
  test::expect_tensor(conv(counting({1, 3, 3, 1})), DType::Float32, {1, 2, 2, 1}, {8, 12, 20, 24});
  const Conv2D same(2, {2, 2}, {.strides = 2, .padding = "same", .use_bias = false, .kernel_initializer = "ones"});
  test::expect_tensor(same(counting({1, 3, 3, 1})), DType::Float32, {1, 2, 2, 2}, {8, 8, 7, 7, 13, 13, 8, 8});
  test::expect_error(
      [] {
        Conv2D(1, 2, {.name = "c"})(counting({2, 9}));
      },
      {"Conv2D 'c'", "4 axes (batch, height, width, channels)", "(2, 9)", "Reshape"});
  test::expect_tensor(GlobalAveragePooling2D()(counting({1, 2, 2, 2})), DType::Float32, {1, 2}, {3, 4});
}

TEST(Layers, ConfigsGoRoundTrip) {
  DenseLayer dense;
  from_json(dense, R"({"name": "d", "trainable": true, "dtype": {"module": "keras", "class_name": "DTypePolicy",
      "config": {"name": "float32"}, "registered_name": null}, "units": 5, "activation": "relu", "use_bias": false,
      "kernel_initializer": {"module": "keras.initializers", "class_name": "HeNormal", "config": {"seed": null,
      "input_axes": null, "output_axes": null}, "registered_name": null}, "bias_initializer": "zeros",
      "kernel_regularizer": null, "bias_regularizer": null, "kernel_constraint": null, "bias_constraint": null,
      "quantization_config": null})");
  EXPECT_EQ(dense.name(), "d");
  const std::string json = to_json(dense);
  EXPECT_NE(json.find("HeNormal"), std::string::npos);
  EXPECT_NE(json.find("\"activation\":\"relu\""), std::string::npos) << json;
  for (const char* name : {"Dense", "Flatten", "Reshape", "Dropout", "Rescaling", "Conv2D", "ReLU", "PReLU", "Softmax",
                           "Concatenate", "Add", "Permute", "RepeatVector", "Identity", "Activation", "ELU"}) {
    EXPECT_EQ(Ref<Layer>(name)->class_name(), name);
  }
}

TEST(Layers, GradientsReachTheWeights) {
  const Dense dense(2, {.kernel_initializer = "ones"});
  dense->ensure_built({Shape{2, 3}});
  GradientTape tape;
  const Tensor loss = ops::sum(dense(counting({2, 3})));
  const Gradients gradients = tape.gradient(loss, dense->trainable_variables());
  test::expect_values(gradients[0].dense(), {3, 3, 5, 5, 7, 7}, 1e-6);
  test::expect_values(gradients[1].dense(), {2, 2}, 1e-6);
}

}  // namespace
}  // namespace cohort::layers
