// What goes wrong in users' functions, data and options once the cluster is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "cohort/cohort.h"
#include "tests/support/error_within.h"

namespace cohort::distribute {
namespace {

using namespace std::chrono_literals;
using cohort::test::error_within;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

using DatasetFn = std::function<Dataset(const InputContext&)>;

Dataset squares(std::int64_t features = 4) {
  return datasets::from_tensor_slices(Tensor::full({24, features}, 1.0), Tensor::full({24, 1}, 1.0)).batch(4);
}

// Keeps the largest value it saw, which two workers' states do not add up to.
class LargestValue : public Metric {
 public:
  LargestValue() : Metric("largest_value") { largest_ = add_variable("largest", {}, 0.0, Aggregation::Mean); }
  void update_state(const Tensor&, const Tensor& y_pred, const Tensor&) override {
    largest_.assign(ops::maximum(largest_.value(), ops::max(y_pred)));
  }
  Tensor result() override { return largest_.value(); }

 private:
  Variable largest_;
};

class TrainingErrors : public testing::TestWithParam<const char*> {
 protected:
  ParameterServerStrategy lead(Partitioner partitioner = {}) const {
    return ParameterServerStrategy(cluster_.resolver(),
                                   {.variable_partitioner = std::move(partitioner), .transport = GetParam()});
  }
  // Of a fit on this data, and of a dataset for each worker.
  std::string error_of_fit(const DatasetFn& fn) const {
    const ParameterServerStrategy strategy = lead();
    auto scope = strategy.scope();
    Sequential model({layers::Dense(1)});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    return error_within(1s, [&] { model.fit(DatasetCreator(fn), {.epochs = 2, .verbose = 0}); });
  }
  std::string error_of_dataset(const DatasetFn& fn) const {
    const ParameterServerStrategy strategy = lead();
    ClusterCoordinator coordinator(strategy);
    return error_within(1s, [&] { coordinator.create_per_worker_dataset(fn); });
  }

  LocalCluster cluster_{{{"worker", 2}, {"ps", 1}}, {.transport = GetParam()}};
};

TEST_P(TrainingErrors, ADatasetFunctionThatReturnsNothing) {
  const DatasetFn fn = [](const InputContext& context) {
    return context.input_pipeline_id == 1 ? Dataset() : squares();
  };
  for (const std::string& error : {error_of_fit(fn), error_of_dataset(fn)}) {
    EXPECT_THAT(error, AllOf(HasSubstr("the dataset of worker:1"), HasSubstr("must return a dataset")));
  }
}

TEST_P(TrainingErrors, ADatasetFunctionThatThrows) {
  const DatasetFn fn = [](const InputContext& context) {
    if (context.input_pipeline_id == 1) throw std::runtime_error("no such file: numbers.csv");
    return squares();
  };
  for (const std::string& error : {error_of_fit(fn), error_of_dataset(fn)}) {
    EXPECT_THAT(error, AllOf(HasSubstr("the dataset of worker:1"), HasSubstr("no such file: numbers.csv")));
  }
}

TEST_P(TrainingErrors, ADatasetOfAnotherShapeOnOneWorker) {
  const DatasetFn fn = [](const InputContext& context) { return squares(4 + context.input_pipeline_id); };
  for (const std::string& error : {error_of_fit(fn), error_of_dataset(fn)}) {
    EXPECT_THAT(error, AllOf(HasSubstr("InvalidArgument"), HasSubstr("the same kind of elements"),
                             HasSubstr("worker:0="), HasSubstr("worker:1=")));
  }
}

// The function itself is fine, what it makes fails on the worker that walks it.
TEST_P(TrainingErrors, ADatasetThatThrowsOnAWorker) {
  const DatasetFn fn = [](const InputContext& context) {
    const std::int64_t most = context.input_pipeline_id == 1 ? 9 : 8;
    const Tensor table = Tensor::full({8, 1}, 1.0);
    return datasets::range(most)
        .map([table](const Tensor& index) {
          const Tensor row = ops::gather(table, index);
          return std::tuple(row, row);
        })
        .batch(1)
        .repeat(20);
  };
  EXPECT_THAT(error_of_fit(fn), MatchesRegex("[A-Za-z]+ worker:[01]: .*Gather.*"));
  const ParameterServerStrategy strategy = lead();
  ClusterCoordinator coordinator(strategy);
  const auto iterator = coordinator.create_per_worker_dataset(fn).iterator();
  const Function step = function([](Iterator data) { return ops::sum(data.next<2>()[0]); });
  const std::string error = error_within(1s, [&] {
    for (int i = 0; i < 340; ++i) coordinator.schedule(step, {iterator});
    coordinator.join();
  });
  EXPECT_THAT(error, MatchesRegex("[A-Za-z]+ worker:[01]: .*Gather.*"));
}

TEST_P(TrainingErrors, APartitionerThatSplitsAnotherAxis) {
  const ParameterServerStrategy strategy = lead([](const Shape& shape, DType, int) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(shape.rank()), 1);
    counts.back() = 2;
    return counts;
  });
  auto scope = strategy.scope();
  Sequential model({layers::Dense(6)});
  EXPECT_THAT(error_within(1s,
                           [&] {
                             model.build({kUnknown, 4});
                           }),
              AllOf(HasSubstr("InvalidArgument"), HasSubstr("only axis 0 can be cut"), HasSubstr("kernel")));
}

TEST_P(TrainingErrors, AVariableMadeOutsideTheScope) {
  const ParameterServerStrategy strategy = lead();
  const Variable outside(Tensor::scalar(1.0), {.name = "mine"});
  ClusterCoordinator coordinator(strategy);
  const Function step = function([&] { return outside.value() + 1.0; });
  EXPECT_THAT(error_within(1s, [&] { coordinator.schedule(step); }),
              AllOf(HasSubstr("FailedPrecondition ClusterCoordinator"), HasSubstr("resource=mine"),
                    HasSubstr("inside the strategy's scope")));
  coordinator.join();
  auto scope = strategy.scope();
  const Variable inside(Tensor::scalar(1.0));
  const Function other = function([&] { return inside.value() + 1.0; });
  EXPECT_EQ(Tensor(coordinator.schedule(other).fetch()).item<float>(), 2.0f);
}

TEST_P(TrainingErrors, AModelMadeOutsideTheScopeInAScheduledFunction) {
  const ParameterServerStrategy strategy = lead();
  Sequential model({layers::Dense(2)});
  model.build({kUnknown, 3});
  ClusterCoordinator coordinator(strategy);
  const Function step = function([&](const Tensor& x) { return model(x); });
  EXPECT_THAT(error_within(1s,
                           [&] {
                             coordinator.schedule(step, {Tensor::full({1, 3}, 1.0)});
                           }),
              AllOf(HasSubstr("FailedPrecondition ClusterCoordinator"), HasSubstr("kernel")));
}

TEST_P(TrainingErrors, AnOptimizerOfAnotherStrategy) {
  const optimizers::SGD local(0.1);
  const ParameterServerStrategy strategy = lead();
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1)});
  EXPECT_THAT(error_within(1s, [&] { model.compile({.optimizer = local, .loss = "mse"}); }),
              AllOf(HasSubstr("InvalidArgument Model.compile"), HasSubstr("made under the model's strategy")));
}

TEST_P(TrainingErrors, RunningEagerly) {
  const ParameterServerStrategy strategy = lead();
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse", .run_eagerly = true});
  EXPECT_THAT(error_within(1s, [&] { model.fit(squares(), {.verbose = 0}); }),
              AllOf(HasSubstr("FailedPrecondition ParameterServerStrategy"), HasSubstr("run_eagerly")));
}

TEST_P(TrainingErrors, AMetricWhoseStateDoesNotAddUp) {
  const ParameterServerStrategy strategy = lead();
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {make<LargestValue>()}});
  EXPECT_THAT(error_within(1s, [&] { model.fit(squares(), {.verbose = 0}); }),
              AllOf(HasSubstr("FailedPrecondition ClusterCoordinator"), HasSubstr("must add up"), HasSubstr("largest"),
                    HasSubstr("Aggregation::Sum")));
}

TEST_P(TrainingErrors, DataWithoutAnEndAndWithoutSteps) {
  const ParameterServerStrategy strategy = lead();
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Dataset endless = squares().repeat();
  EXPECT_THAT(error_within(1s, [&] { model.fit(endless, {.verbose = 0}); }),
              AllOf(HasSubstr("InvalidArgument"), HasSubstr("cardinality=infinite"), HasSubstr("steps_per_epoch")));
  EXPECT_THAT(error_within(1s, [&] { model.evaluate(endless, {.verbose = 0}); }), HasSubstr("cardinality=infinite"));
  EXPECT_THAT(error_within(1s, [&] { model.predict(endless, {.verbose = 0}); }), HasSubstr("cardinality=infinite"));
  // Nothing of it was left behind.
  EXPECT_EQ(model.fit(squares(), {.epochs = 1, .verbose = 0})["loss"].size(), 1u);
}

// What a step throws on a worker ends the fit, and the model can be trained again.
TEST_P(TrainingErrors, AStepThatFailsOnAWorker) {
  const ParameterServerStrategy strategy = lead();
  auto scope = strategy.scope();
  Sequential model({layers::Dense(3)});
  model.compile({.optimizer = "sgd", .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  const auto labelled = [](std::int32_t last) {
    return datasets::from_tensor_slices(Tensor::full({4, 2}, 1.0), Tensor::of<std::int32_t>({0, 1, 2, last}, {4}))
        .batch(1)
        .repeat(10);
  };
  EXPECT_THAT(error_within(1s, [&] { model.fit(labelled(7), {.epochs = 3, .verbose = 0}); }),
              MatchesRegex("[A-Za-z]+ worker:[01]: .*7.*"));
  EXPECT_EQ(model.fit(labelled(0), {.epochs = 2, .verbose = 0})["loss"].size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Transports, TrainingErrors, testing::Values("auto", "grpc"));

}  // namespace
}  // namespace cohort::distribute
