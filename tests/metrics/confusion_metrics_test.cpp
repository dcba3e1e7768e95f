#include <gtest/gtest.h>

#include <limits>

#include "cohort/graph/function.h"
#include "cohort/metrics/metrics.h"
#include "tests/support/floats.h"

// Numbers of these metrics are compared with Keras's in the golden cases; here is what those cannot show.

namespace cohort {
namespace {

const Tensor& labels() {
  static const Tensor values = floats({0, 1, 1, 0}, {4});
  return values;
}
const Tensor& scores() {
  static const Tensor values = floats({0.1f, 0.9f, 0.4f, 0.6f}, {4});
  return values;
}

TEST(ConfusionMetrics, UpdateInATraceOfAnyBatch) {
  const metrics::AUC eager, traced;
  const metrics::Precision precision;
  Function update = function([&](Tensor y, Tensor p) {
    traced.update_state(y, p);
    precision.update_state(y, p);
    return p;
  });
  for (std::int64_t count : {4, 2, 3}) {
    const Tensor y = labels().rows(0, count), p = scores().rows(0, count);
    update(y, p);
    eager.update_state(y, p);
  }
  EXPECT_FLOAT_EQ(traced.result().item<float>(), eager.result().item<float>());
  EXPECT_FLOAT_EQ(precision.result().item<float>(), 3.0f / 4.0f);
  traced.reset_state();
  EXPECT_FLOAT_EQ(traced.result().item<float>(), 0.0f);
}

TEST(ConfusionMetrics, SurvivePredictionsThatAreNoNumbers) {
  const metrics::AUC auc;
  auc.update_state(labels(), floats({0.1f, std::numeric_limits<float>::quiet_NaN(), 0.4f, 0.6f}, {4}));
  EXPECT_NO_THROW(auc.result());
}

}  // namespace
}  // namespace cohort
