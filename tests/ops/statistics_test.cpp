#include "cohort/ops/statistics.h"

#include <cmath>

#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

TEST(Nanmax, of_nothing_but_nan_is_nan) {
  const Tensor x = tensor_of({NAN, NAN, 1, NAN, -INFINITY, NAN, INFINITY, 2}, {4, 2});
  const std::vector<double> largest = nanmax(x, 1).to_vector<double>(), smallest = nanmin(x, 1).to_vector<double>();
  EXPECT_TRUE(std::isnan(largest[0]));
  EXPECT_TRUE(std::isnan(smallest[0]));
  EXPECT_EQ(std::vector<double>(largest.begin() + 1, largest.end()), (std::vector<double>{1, -INFINITY, INFINITY}));
  EXPECT_EQ(std::vector<double>(smallest.begin() + 1, smallest.end()), (std::vector<double>{1, -INFINITY, 2}));
  const Tensor whole = nanmax(tensor_of({NAN, NAN}, {1, 2}, float16), {}, true);
  EXPECT_EQ(whole.shape(), (Shape{1, 1}));
  EXPECT_EQ(whole.dtype(), float16);
  EXPECT_TRUE(std::isnan(whole.to_vector<double>()[0]));
  expect_tensor(nanmin(tensor_of({3, 2}, {2}, int32)), int32, {}, {2});
}

}  // namespace
}  // namespace cohort::test
