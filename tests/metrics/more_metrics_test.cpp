#include <gtest/gtest.h>

#include <limits>

#include "cohort/graph/function.h"
#include "cohort/metrics/metrics.h"
#include "cohort/ops/math.h"
#include "tests/support/floats.h"
#include "tests/support/op_check.h"

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

// What a cluster's workers count apart is added up: all state starts at zero and sums.
TEST(Metrics, StateAddsUp) {
  const std::vector<Ref<Metric>> all = {metrics::AUC(),           metrics::Recall({.top_k = 1}),
                                        metrics::TruePositives(), metrics::PrecisionAtRecall(0.5),
                                        metrics::F1Score(),       metrics::R2Score(),
                                        metrics::MeanIoU(2),      metrics::PearsonCorrelation()};
  const Tensor y = floats({0, 1, 1, 0}, {2, 2}), p = floats({0.1f, 0.9f, 0.4f, 0.6f}, {2, 2});
  for (const Ref<Metric>& metric : all) {
    metric->update_state(y, p);
    ASSERT_FALSE(metric->variables().empty()) << metric->name();
    for (const Variable& variable : metric->variables()) {
      EXPECT_EQ(variable.aggregation(), Aggregation::Sum) << variable.path();
      EXPECT_EQ(variable.synchronization(), Synchronization::OnRead) << variable.path();
    }
  }
}

TEST(Metrics, CanBeAFunction) {
  const metrics::MeanOf distance([](const Tensor& y, const Tensor& p) { return ops::abs(y - p); },
                                 {.name = "distance"});
  distance.update_state(floats({0, 1}, {2}), floats({2, 1}, {2}));
  EXPECT_FLOAT_EQ(distance.result().item<float>(), 1.0f);
  EXPECT_EQ(distance->name(), "distance");
}

TEST(Metrics, OfMoreKindsRefuseWrongArguments) {
  using test::expect_error;
  expect_error([] { metrics::AUC({.num_thresholds = 1}); }, {"auc", "num_thresholds=1"});
  expect_error([] { metrics::AUC({.curve = "ROCK"}); }, {"curve must be one of", "ROCK"});
  expect_error([] { metrics::AUC({.summation_method = "middle"}); }, {"summation_method", "middle"});
  expect_error([] { metrics::AUC({.num_labels = 3}); }, {"multi_label", "num_labels=3"});
  expect_error([] { metrics::AUC({.multi_label = true}).update_state(labels(), scores()); }, {"(samples, labels)"});
  expect_error([] { metrics::Precision({.thresholds = std::vector<double>{0.5, 1.5}}); }, {"[0, 1]", "1.5"});
  expect_error([] { metrics::Recall({.top_k = 0}); }, {"top_k=0"});
  expect_error([] { metrics::Recall({.class_id = 1}).update_state(labels(), scores()); }, {"class_id", "(4,)"});
  expect_error([] { metrics::TruePositives().update_state(labels(), floats({1, 0}, {2})); }, {"same shape"});
  expect_error([] { metrics::RecallAtPrecision(1.5); }, {"precision must lie in [0, 1]", "1.5"});
  expect_error([] { metrics::SensitivityAtSpecificity(0.5, {.num_thresholds = 0}); }, {"num_thresholds=0"});
  expect_error([] { metrics::F1Score({.average = "mean"}); }, {"average", "mean"});
  expect_error([] { metrics::FBetaScore({.beta = 0.0}); }, {"beta=0"});
  expect_error([] { metrics::F1Score({.threshold = 0.0}); }, {"(0, 1]"});
  expect_error([] { metrics::F1Score().update_state(labels(), scores()); }, {"(batch, classes)", "(4,)"});
  expect_error([] { metrics::F1Score().result(); }, {"after the first update"});
  expect_error([] { metrics::IoU(2, {0, 2}); }, {"[0, 2)", "target_class_id=2"});
  expect_error([] { metrics::MeanIoU(0); }, {"num_classes=0"});
  expect_error([] { metrics::R2Score({.class_aggregation = "sum"}); }, {"class_aggregation", "sum"});
  expect_error([] { metrics::R2Score({.num_regressors = -1}); }, {"num_regressors=-1"});
  expect_error([] { metrics::R2Score().update_state(labels(), scores()); }, {"(batch, outputs)"});
}

}  // namespace
}  // namespace cohort
