#include "cohort/ops/pixels.h"

#include "cohort/ops/array.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

TEST(RgbToGrayscale, keeps_the_type_of_integers) {
  const std::vector<double> pixels = {10, 200, 30, 255, 255, 255};
  for (const DType dtype : {uint8, int32, int64}) {
    SCOPED_TRACE(to_string(dtype));
    expect_tensor(rgb_to_grayscale(tensor_of(pixels, {1, 2, 3}, dtype)), dtype, {1, 2, 1}, {123, 254});
    expect_tensor(rgb_to_grayscale(tensor_of(pixels, {1, 1, 2, 3}, dtype)), dtype, {1, 1, 2, 1}, {123, 254});
  }
  const Tensor first = tensor_of({10, 255, 200, 255, 30, 255}, {3, 1, 2}, uint8);
  expect_tensor(rgb_to_grayscale(first, "channels_first"), uint8, {1, 1, 2}, {123, 254});
}
TEST(RgbToGrayscale, leaves_one_channel_alone) {
  expect_tensor(rgb_to_grayscale(tensor_of({10, 255}, {1, 2, 1}, uint8)), uint8, {1, 2, 1}, {10, 255});
  expect_tensor(rgb_to_grayscale(tensor_of({0.5, 2}, {1, 1, 1, 2}), "channels_first"), float64, {1, 1, 1, 2}, {0.5, 2});
}
TEST(RgbToGrayscale, says_what_is_wrong) {
  expect_error([] { rgb_to_grayscale(spread({2, 2, 4})); }, {"rgb_to_grayscale:", "3 channels", "(2, 2, 4)"});
  expect_error([] { rgb_to_grayscale(spread({2, 3})); }, {"rgb_to_grayscale:", "4 axes", "(2, 3)"});
  expect_error([] { rgb_to_grayscale(spread({2, 2, 3}), "chanels_last"); }, {"data_format", "chanels_last"});
}

TEST(DepthToSpace, spreads_channels_and_gathers_them_again) {
  const Tensor x = tensor_of({0, 1, 2, 3, 4, 5, 6, 7}, {1, 1, 2, 4});
  const Tensor spread_out = depth_to_space(x, 2);
  expect_tensor(spread_out, float64, {1, 2, 4, 1}, {0, 1, 4, 5, 2, 3, 6, 7});
  expect_tensor(space_to_depth(spread_out, 2), float64, {1, 1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor first = depth_to_space(moveaxis(x, -1, 1), 2, "channels_first");
  expect_tensor(first, float64, {1, 1, 2, 4}, {0, 1, 4, 5, 2, 3, 6, 7});
}
TEST(DepthToSpace, refuses_blocks_that_do_not_fit) {
  using Blocks = Tensor (*)(const Tensor&, std::int64_t, const std::string&);
  const Tensor x = spread({2, 2, 2, 4});
  for (const Blocks blocks : {Blocks(depth_to_space), Blocks(space_to_depth)}) {
    for (const std::int64_t block : {std::int64_t{0}, std::int64_t{-2}, std::int64_t{1}}) {
      expect_error([&] { blocks(x, block, "channels_last"); }, {"block_size", "at least 2", std::to_string(block)});
    }
    for (const std::int64_t block : {std::int64_t{3}, std::int64_t{1} << 32, std::int64_t{1} << 62}) {
      expect_error([&] { blocks(x, block, "channels_last"); }, {"(2, 2, 2, 4)", std::to_string(block)});
    }
    expect_error([&] { blocks(spread({2, 2, 4}), 2, "channels_last"); }, {"4 axes", "(2, 2, 4)"});
    expect_error([&] { blocks(x, 2, "channels"); }, {"data_format", "channels"});
  }
  expect_error([] { depth_to_space(spread({2, 2, 2, 6}), 2); }, {"depth_to_space:", "multiple", "(2, 2, 2, 6)"});
  expect_error([] { space_to_depth(spread({2, 2, 3, 1}), 2); }, {"space_to_depth:", "multiples", "(2, 2, 3, 1)"});
}

TEST(ExtractPatches, takes_one_image_and_channels_first) {
  const Tensor image = tensor_of({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4, 1});
  expect_tensor(extract_patches(image, {2, 2}), float64, {1, 2, 4}, {1, 2, 5, 6, 3, 4, 7, 8});
  expect_tensor(extract_patches(moveaxis(image, -1, 0), {2, 2}, {.data_format = "channels_first"}), float64, {4, 1, 2},
                {1, 3, 2, 4, 5, 7, 6, 8});
  expect_error([&] { extract_patches(image, {2, 2}, {.data_format = "last"}); }, {"extract_patches:", "data_format"});
}

}  // namespace
}  // namespace cohort::test
