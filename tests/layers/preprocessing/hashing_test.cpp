#include "cohort/layers/preprocessing/hashing.h"

#include <gtest/gtest.h>

#include "tests/support/op_check.h"

namespace cohort {
namespace {

using test::expect_error;

TEST(Hashing, RefusesWhatDoesNotFit) {
  expect_error([] { layers::Hashing(0); }, {"num_bins=0"});
  expect_error([] { layers::Hashing(2, {.salt = std::vector<std::int64_t>{1, 2, 3}}); }, {"salt"});
  expect_error([] { layers::Hashing(2, {.dtype = DType::Float32}); }, {"integer type", "float32"});
  expect_error([] { layers::Hashing(3, {.mask_value = "x"})(Tensor::of<std::int32_t>({1}, {1})); }, {"mask_value"});
}

}  // namespace
}  // namespace cohort
