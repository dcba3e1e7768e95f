#include "cohort/layers/core/dense.h"

#include <gtest/gtest.h>

#include "cohort/autodiff/tape.h"
#include "cohort/model/regularizers.h"
#include "cohort/ops/reduce.h"
#include "cohort/saving/config_json.h"
#include "cohort/variables/initializers.h"
#include "tests/layers/counting.h"
#include "tests/support/floats.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

TEST(Dense, ComputesAffineMapsOfAnyRank) {
  const Dense dense(2, {.activation = "relu", .kernel_initializer = initializers::Constant(0.5), .name = "mine"});
  const Tensor y = dense(floats({1, 2, 3, -4, 0, 0}, {2, 3}));
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
        Dense(2, {.name = "first"})(floats({1, 2}, {2}));
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
  dense(floats({1, 2, 3, 4}, {2, 2}));
  double sum = 0;
  for (const Tensor& loss : dense->losses()) sum += loss.item<double>();
  EXPECT_NEAR(sum, 0.5 * 2 + (3 + 7) / 2.0, 1e-6);
}

TEST(Dense, ConfigsGoRoundTrip) {
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
}

TEST(Dense, GradientsReachTheWeights) {
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
