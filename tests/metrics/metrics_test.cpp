#include "cohort/metrics/metrics.h"

#include <gtest/gtest.h>

#include "cohort/graph/function.h"
#include "cohort/saving/config_json.h"
#include "tests/support/floats.h"
#include "tests/support/op_check.h"

// Expected numbers come from Keras 3.15.

namespace cohort {
namespace {

float value(const Tensor& tensor) { return tensor.item<float>(); }

const Shape k2x2 = {2, 2};

TEST(Metrics, MeanAndSum) {
  metrics::Mean mean;
  metrics::Sum sum;
  const Tensor values = floats({1, 3, 5, 7}, {4}), weight = floats({1, 1, 0, 0.5}, {4});
  mean.update_state(values, weight);
  mean.update_state(floats({2}, {1}));
  sum.update_state(values, weight);
  sum.update_state(floats({2}, {1}));
  EXPECT_FLOAT_EQ(value(mean.result()), 2.7142856f);
  EXPECT_FLOAT_EQ(value(sum.result()), 9.5f);
  mean.reset_state();
  EXPECT_FLOAT_EQ(value(mean.result()), 0.0f);
  ASSERT_EQ(mean->variables().size(), 2u);
  EXPECT_EQ(mean->variables()[0].name(), "total");
  EXPECT_EQ(mean->variables()[1].name(), "count");
}

TEST(Metrics, AccuraciesMatchKeras) {
  const Tensor weight = floats({0.5, 2}, {2});
  const Tensor labels = floats({0, 1, 1, 0}, k2x2);
  metrics::BinaryAccuracy binary;
  binary.update_state(labels, floats({0.1f, 0.8f, 0.6f, 0.3f}, k2x2));
  binary.update_state(labels, floats({0.6f, 0.3f, 0.1f, 0.8f}, k2x2), weight);
  EXPECT_FLOAT_EQ(value(binary.result()), 0.44444445f);

  const Tensor chances = floats({0.1f, 0.7f, 0.2f, 0.3f, 0.3f, 0.8f}, {2, 3});
  metrics::CategoricalAccuracy categorical;
  categorical.update_state(floats({0, 1, 0, 0, 0, 1}, {2, 3}), chances, weight);
  EXPECT_FLOAT_EQ(value(categorical.result()), 1.0f);

  metrics::SparseCategoricalAccuracy sparse;
  sparse.update_state(Tensor::of<std::int64_t>({1, 0}, {2}), chances, weight);
  sparse.update_state(Tensor::of<std::int64_t>({1, 2}, {2, 1}), chances);
  EXPECT_FLOAT_EQ(value(sparse.result()), 0.5555556f);

  metrics::TopKCategoricalAccuracy top({.k = 2});
  top.update_state(floats({1, 0, 0, 0, 0, 1}, {2, 3}), chances);
  EXPECT_FLOAT_EQ(value(top.result()), 0.5f);
  metrics::SparseTopKCategoricalAccuracy sparse_top({.k = 2});
  sparse_top.update_state(Tensor::of<std::int32_t>({2, 1}, {2}), chances, weight);
  EXPECT_FLOAT_EQ(value(sparse_top.result()), 1.0f);
}

TEST(Metrics, ErrorsMatchKeras) {
  const Tensor y_true = floats({0, 1, 2, -1}, k2x2), y_pred = floats({0.5, 0.5, 1.5, 1}, k2x2);
  const Tensor weight = floats({0.5, 2}, {2});
  metrics::RootMeanSquaredError root;
  metrics::MeanSquaredError squared;
  for (const Tensor& each : {weight, Tensor()}) {
    root.update_state(y_true, y_pred, each);
    squared.update_state(y_true, y_pred, each);
  }
  EXPECT_FLOAT_EQ(value(root.result()), 1.2247449f);
  EXPECT_FLOAT_EQ(value(squared.result()), 1.5f);
  metrics::CosineSimilarity cosine;
  cosine.update_state(y_true, y_pred, weight);
  EXPECT_NEAR(value(cosine.result()), 0.5383325, 1e-6);
  metrics::SparseCategoricalCrossentropy cross({.from_logits = true});
  cross.update_state(Tensor::of<std::int32_t>({1, 2}, {2}), floats({1, 2, 0.5, 0, -1, 3}, {2, 3}), weight);
  EXPECT_NEAR(value(cross.result()), 0.14558089, 1e-6);
}

TEST(Metrics, UpdatesBecomePartOfAGraph) {
  metrics::SparseCategoricalAccuracy accuracy;
  const Function update =
      function([&](const Tensor& y_true, const Tensor& y_pred) { accuracy.update_state(y_true, y_pred); },
               {.input_signature = {{DType::Int64, {kUnknown}}, {DType::Float32, {kUnknown, 3}}}});
  update(Tensor::of<std::int64_t>({1, 0}, {2}), floats({0.1f, 0.7f, 0.2f, 0.3f, 0.3f, 0.8f}, {2, 3}));
  update(Tensor::of<std::int64_t>({2}, {1}), floats({0, 0, 1}, {1, 3}));
  EXPECT_FLOAT_EQ(value(accuracy.result()), 2.0f / 3.0f);
  EXPECT_EQ(update.trace_count(), 1);
}

TEST(Metrics, NamesAndConfigs) {
  EXPECT_EQ(Ref<Metric>("mae")->class_name(), "MeanAbsoluteError");
  EXPECT_EQ(Ref<Metric>("mae")->name(), "mean_absolute_error");
  EXPECT_EQ(metrics::LogCoshError()->name(), "logcosh");
  metrics::BinaryAccuracyMetric metric;
  from_json(metric, R"({"name": "mine", "dtype": "float32", "threshold": 0.3})");
  EXPECT_EQ(metric.name(), "mine");
  EXPECT_NE(to_json(metric).find("0.3"), std::string::npos);
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

}  // namespace
}  // namespace cohort
