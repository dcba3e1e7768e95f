#include "cohort/layers/merging/custom_scale.h"

#include <gtest/gtest.h>

#include "cohort/saving/config_json.h"
#include "tests/layers/counting.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

TEST(CustomScale, AddsTheSecondInputTimesTheFactor) {
  const Tensor first = Tensor::of<float>({10, 20, 30}, {1, 3});
  test::expect_tensor(CustomScale(0.5)({first, counting({1, 3})}), float32, {1, 3}, {10, 20.5, 31});
}

TEST(CustomScale, IsWrittenAsKerasWritesIt) {
  const std::string json = to_json(*CustomScale(0.17, {.name = "mine"}));
  EXPECT_EQ(
      json.rfind("{\"module\":\"keras.src.applications.inception_resnet_v2\",\"class_name\":\"CustomScaleLayer\"", 0),
      0u)
      << json;
  EXPECT_NE(json.find("\"scale\":0.17},\"registered_name\":\"CustomScaleLayer\"}"), std::string::npos) << json;
  const auto read = Layer::from_name("CustomScaleLayer");
  from_json(*read, json);
  EXPECT_EQ(to_json(*read), json);
}

TEST(CustomScale, OtherThanTwoInputsAreErrors) {
  const Tensor x = counting({1, 3});
  test::expect_error(
      [&] {
        CustomScale(1.0, {.name = "mine"})({x, x, x});
      },
      {"CustomScaleLayer 'mine'", "two inputs", "inputs=3"});
}

}  // namespace
}  // namespace cohort::layers
