#include <gtest/gtest.h>

#include <type_traits>

#include "cohort/graph/function.h"
#include "cohort/layers/reshaping/cropping.h"
#include "cohort/layers/reshaping/flatten.h"
#include "cohort/layers/reshaping/permute.h"
#include "cohort/layers/reshaping/repeat_vector.h"
#include "cohort/layers/reshaping/reshape.h"
#include "cohort/layers/reshaping/up_sampling.h"
#include "cohort/layers/reshaping/zero_padding.h"
#include "cohort/saving/config_json.h"
#include "tests/layers/counting.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

TEST(ZeroPadding, TakesANumberNumbersOrPairs) {
  EXPECT_EQ(ZeroPadding2D(2)(counting({1, 3, 4, 1})).shape(), Shape({1, 7, 8, 1}));
  EXPECT_EQ(ZeroPadding2D({1, 2})(counting({1, 3, 4, 1})).shape(), Shape({1, 5, 8, 1}));
  EXPECT_EQ(ZeroPadding2D({{1, 2}, {0, 3}})(counting({1, 3, 4, 1})).shape(), Shape({1, 6, 7, 1}));
  EXPECT_EQ(ZeroPadding3D({1, 0, {0, 2}})(counting({1, 2, 2, 2, 1})).shape(), Shape({1, 4, 2, 4, 1}));
  test::expect_tensor(ZeroPadding1D({1, 0})(counting({1, 2, 1})), float32, {1, 3, 1}, {0, 0, 1});
  test::expect_tensor(ZeroPadding1D(1, {.data_format = "channels_first"})(counting({1, 1, 2})), float32, {1, 1, 4},
                      {0, 0, 1, 0});
}

TEST(ZeroPadding, ConfigsHaveAPairForEachAxis) {
  const std::string json = config_to_json(*ZeroPadding2D({1, {0, 2}}));
  EXPECT_NE(json.find("\"padding\":[[1,1],[0,2]]"), std::string::npos) << json;
  EXPECT_NE(config_to_json(*Cropping1D({1, 2})).find("\"cropping\":[1,2]"), std::string::npos);
}

TEST(Cropping, CutsTheEndsOff) {
  test::expect_tensor(Cropping1D({1, 2})(counting({1, 5, 1})), float32, {1, 2, 1}, {1, 2});
  test::expect_tensor(Cropping2D({{1, 0}, {0, 1}})(counting({1, 2, 3, 1})), float32, {1, 1, 2, 1}, {3, 4});
  EXPECT_EQ(Cropping3D(1, {.data_format = "channels_first"})(counting({1, 2, 3, 4, 5})).shape(),
            Shape({1, 2, 1, 2, 3}));
}

// Keras: "Unrecognized keyword arguments passed to Cropping1D".
TEST(Cropping, OfStepsHasNoDataFormat) {
  EXPECT_FALSE((std::is_constructible_v<Cropping1D, int, CroppingOptions>));
  EXPECT_TRUE((std::is_constructible_v<Cropping2D, int, CroppingOptions>));
  const std::string json = config_to_json(*Cropping1D(2, {.dtype = "float64", .name = "ends"}));
  EXPECT_NE(json.find("\"name\":\"ends\""), std::string::npos) << json;
  EXPECT_NE(json.find("float64"), std::string::npos) << json;
  EXPECT_EQ(json.find("data_format"), std::string::npos) << json;
}

TEST(UpSampling, RepeatsOrInterpolates) {
  test::expect_tensor(UpSampling1D(2)(counting({1, 2, 1})), float32, {1, 4, 1}, {0, 0, 1, 1});
  test::expect_tensor(UpSampling2D({1, 2})(counting({1, 1, 2, 1})), float32, {1, 1, 4, 1}, {0, 0, 1, 1});
  test::expect_tensor(UpSampling2D({1, 2}, {.interpolation = "bilinear"})(counting({1, 1, 2, 1})), float32,
                      {1, 1, 4, 1}, {0, 0.25, 0.75, 1});
  EXPECT_EQ(UpSampling3D({1, 2, 3})(counting({1, 2, 2, 2, 1})).shape(), Shape({1, 2, 4, 6, 1}));
}

TEST(Reshaping, WrongShapesAndSizesAreErrors) {
  test::expect_error([] { ZeroPadding2D(-1); }, {"ZeroPadding2D", "padding", "(-1, -1)"});
  test::expect_error([] { ZeroPadding2D({1, 2, 3}); }, {"ZeroPadding2D", "2 axes"});
  test::expect_error([] { ZeroPadding1D()(counting({2, 2})); }, {"ZeroPadding1D", "3 axes", "(2, 2)"});
  test::expect_error([] { Cropping2D(1)(counting({1, 2, 4, 1})); }, {"Cropping2D", "leave something", "(1, 2, 4, 1)"});
  test::expect_error([] { UpSampling1D(0); }, {"UpSampling1D", "size=0"});
  test::expect_error([] { UpSampling2D(2, {.interpolation = "cubic"}); }, {"UpSampling2D", "'cubic'"});
  test::expect_error([] { UpSampling3D({1, 2}); }, {"UpSampling3D", "size", "3 of them"});
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

}  // namespace
}  // namespace cohort::layers
