#include <gtest/gtest.h>

#include "cohort/optimizers/optimizers.h"

namespace cohort {
namespace {

// A step far larger than a block: pieces on several threads give one norm.
TEST(Lamb, TakesALargeVariableAsOne) {
  const std::int64_t count = 100000;
  const Variable variable(Tensor::full({count}, 2.0), {.name = "large"});
  optimizers::Lamb(0.1).apply({Tensor::full({count}, 0.5)}, {variable});
  // All elements alike: the step is rate * |variable| / |direction| * direction = 0.1 * 2.
  const std::vector<float> values = read_now(variable).to_vector<float>();
  EXPECT_NEAR(values.front(), 1.8f, 1e-5f);
  EXPECT_EQ(values.front(), values.back());
}

}  // namespace
}  // namespace cohort
