#include "cohort/layers/preprocessing/discretization.h"

#include <gtest/gtest.h>

#include "tests/support/floats.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

using test::expect_error;

TEST(Discretization, RefusesWhatDoesNotFit) {
  expect_error([] { layers::Discretization({}); }, {"num_bins or bin_boundaries"});
  expect_error([] { layers::Discretization({.bin_boundaries = std::vector<double>{0}, .num_bins = 2}); }, {"both"});
  expect_error([] { layers::Discretization({.num_bins = 3})(floats({1}, {1})); }, {"Call adapt()"});
  expect_error([] { layers::Discretization({.bin_boundaries = std::vector<double>{0}}).adapt(floats({1}, {1})); },
               {"cannot adapt", "num_bins"});
}

}  // namespace
}  // namespace cohort
