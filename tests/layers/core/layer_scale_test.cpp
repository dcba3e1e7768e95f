#include "cohort/layers/core/layer_scale.h"

#include <gtest/gtest.h>

#include "cohort/autodiff/tape.h"
#include "cohort/ops/reduce.h"
#include "cohort/saving/config_json.h"
#include "tests/layers/counting.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

TEST(LayerScale, EachChannelHasAFactorThatLearns) {
  const LayerScale scale(0.5, 3, {.name = "mine"});
  test::expect_tensor(scale(counting({1, 2, 3})), float32, {1, 2, 3}, {0, 0.5, 1, 1.5, 2, 2.5});
  ASSERT_EQ(scale->trainable_variables().size(), 1u);
  EXPECT_EQ(scale->weights()[0].name(), "gamma");
  scale->set_weights({Tensor::of<float>({1, 2, 3}, {3})});
  GradientTape tape;
  const Tensor loss = ops::sum(scale(counting({1, 2, 3})));
  EXPECT_EQ(loss.item<float>(), 0 + 2 + 6 + 3 + 8 + 15);
  test::expect_values(tape.gradient(loss, scale->weights())[0], {3, 5, 7}, 0);
}

TEST(LayerScale, IsWrittenAsKerasWritesIt) {
  const std::string json = to_json(*LayerScale(1e-6, 4, {.name = "mine"}));
  EXPECT_EQ(json.rfind("{\"module\":\"keras.src.applications.convnext\",\"class_name\":\"LayerScale\"", 0), 0u) << json;
  EXPECT_NE(json.find("\"init_values\":1e-06,\"projection_dim\":4},\"registered_name\":\"LayerScale\"}"),
            std::string::npos)
      << json;
  const auto read = Layer::from_name("LayerScale");
  from_json(*read, json);
  EXPECT_EQ(to_json(*read), json);
}

TEST(LayerScale, OtherChannelsAreErrors) {
  test::expect_error(
      [] {
        LayerScale(1.0, 3, {.name = "mine"})(counting({2, 4}));
      },
      {"LayerScale 'mine'", "projection_dim=3", "(2, 4)"});
  test::expect_error([] { LayerScale(1.0, 0); }, {"LayerScale", "projection_dim=0"});
}

}  // namespace
}  // namespace cohort::layers
