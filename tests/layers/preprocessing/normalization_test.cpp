#include "cohort/layers/preprocessing/normalization.h"

#include <gtest/gtest.h>

#include "cohort/datasets/sources/tensor_slices.h"
#include "tests/support/floats.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

using test::expect_error;

TEST(Normalization, AdaptsToAllBatchesOfADataset) {
  const Tensor data = test::spread_tensor({10, 3}, -2, 5, DType::Float32);
  const layers::Normalization whole, batched;
  whole.adapt(data);
  batched.adapt(datasets::from_tensor_slices(data).batch(4));
  const std::vector<float> want = whole(data).to_vector<float>(), got = batched(data).to_vector<float>();
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5f);
}

TEST(Normalization, RefusesWhatDoesNotFit) {
  expect_error([] { layers::Normalization({.mean = std::vector<double>{1}}); }, {"mean and variance", "variance=None"});
  expect_error([] { layers::Normalization({.axis = {2}})(floats({1, 2}, {1, 2})); }, {"Normalization '", "axis=2"});
  const layers::Normalization given({.mean = std::vector<double>{1, 2}, .variance = std::vector<double>{1, 2}});
  expect_error([&] { given(floats({1, 2, 3}, {1, 3})); }, {"mean must have a value"});
  expect_error([&] { given.adapt(floats({1, 2}, {1, 2})); }, {"cannot adapt"});
}

}  // namespace
}  // namespace cohort
