#include "cohort/layers/preprocessing/category_encoding.h"

#include <gtest/gtest.h>

#include "tests/support/floats.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

using test::expect_error;

TEST(CategoryEncoding, CountsByWeights) {
  const layers::CategoryEncoding count(3, {.output_mode = "count"}), marks(3);
  const Tensor categories = Tensor::of<std::int32_t>({0, 2, 2}, {1, 3}), weights = floats({0.5, 1, 2}, {1, 3});
  const auto with_weights = [&](const layers::CategoryEncoding& layer, const Tensor& by) {
    return layer->apply(Element::dict({{"inputs", categories}, {"count_weights", by}}), {}).leaf();
  };
  EXPECT_EQ(with_weights(count, weights).to_vector<float>(), (std::vector<float>{0.5, 0, 3}));
  expect_error([&] { with_weights(marks, weights); }, {"count_weights need output_mode 'count'"});
  expect_error([&] { with_weights(count, floats({1, 2}, {1, 2})); }, {"count_weights.shape=(1, 2)"});
  expect_error([] { layers::CategoryEncoding(0); }, {"num_tokens=0"});
  expect_error([] { layers::CategoryEncoding(2, {.output_mode = "int"}); }, {"output_mode", "'int'"});
  expect_error([] { layers::CategoryEncoding(2, {.sparse = true}); }, {"sparse"});
}

}  // namespace
}  // namespace cohort
