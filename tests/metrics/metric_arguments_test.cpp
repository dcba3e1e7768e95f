#include <gtest/gtest.h>

#include "cohort/metrics/metrics.h"
#include "tests/support/floats.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

TEST(Metrics, RefuseWrongArguments) {
  using test::expect_error;
  const Tensor y = floats({0, 1, 1, 0}, {4}), p = floats({0.1f, 0.9f, 0.4f, 0.6f}, {4});
  expect_error([] { metrics::AUC({.num_thresholds = 1}); }, {"auc", "num_thresholds=1"});
  expect_error([] { metrics::AUC({.curve = "ROCK"}); }, {"curve must be one of", "ROCK"});
  expect_error([] { metrics::AUC({.summation_method = "middle"}); }, {"summation_method", "middle"});
  expect_error([] { metrics::AUC({.num_labels = 3}); }, {"multi_label", "num_labels=3"});
  expect_error([&] { metrics::AUC({.multi_label = true}).update_state(y, p); }, {"(samples, labels)"});
  expect_error([] { metrics::Precision({.thresholds = std::vector<double>{0.5, 1.5}}); }, {"[0, 1]", "1.5"});
  expect_error([] { metrics::Recall({.top_k = 0}); }, {"top_k=0"});
  expect_error([&] { metrics::Recall({.class_id = 1}).update_state(y, p); }, {"class_id", "(4,)"});
  expect_error([&] { metrics::TruePositives().update_state(y, floats({1, 0}, {2})); }, {"same shape"});
  expect_error([] { metrics::RecallAtPrecision(1.5); }, {"precision must lie in [0, 1]", "1.5"});
  expect_error([] { metrics::SensitivityAtSpecificity(0.5, {.num_thresholds = 0}); }, {"num_thresholds=0"});
  expect_error([] { metrics::F1Score({.average = "mean"}); }, {"average", "mean"});
  expect_error([] { metrics::FBetaScore({.beta = 0.0}); }, {"beta=0"});
  expect_error([] { metrics::F1Score({.threshold = 0.0}); }, {"(0, 1]"});
  expect_error([&] { metrics::F1Score().update_state(y, p); }, {"(batch, classes)", "(4,)"});
  expect_error([] { metrics::F1Score().result(); }, {"after the first update"});
  expect_error([] { metrics::IoU(2, {0, 2}); }, {"[0, 2)", "target_class_id=2"});
  expect_error([] { metrics::MeanIoU(0); }, {"num_classes=0"});
  expect_error([] { metrics::R2Score({.class_aggregation = "sum"}); }, {"class_aggregation", "sum"});
  expect_error([] { metrics::R2Score({.num_regressors = -1}); }, {"num_regressors=-1"});
  expect_error([&] { metrics::R2Score().update_state(y, p); }, {"(batch, outputs)"});
}

}  // namespace
}  // namespace cohort
