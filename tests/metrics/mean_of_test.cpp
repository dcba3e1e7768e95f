#include <gtest/gtest.h>

#include "cohort/metrics/metrics.h"
#include "cohort/ops/math.h"
#include "tests/support/floats.h"

namespace cohort {
namespace {

TEST(MeanOf, MakesAMetricOfAFunction) {
  const metrics::MeanOf distance([](const Tensor& y, const Tensor& p) { return ops::abs(y - p); },
                                 {.name = "distance"});
  distance.update_state(floats({0, 1}, {2}), floats({2, 1}, {2}));
  EXPECT_FLOAT_EQ(distance.result().item<float>(), 1.0f);
  EXPECT_EQ(distance->name(), "distance");
}

}  // namespace
}  // namespace cohort
