// Data that nobody knows the length of ends fit, evaluate and predict on a cluster as it does without one.
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "tests/support/counted_source.h"
#include "tests/support/deadline.h"

namespace cohort {
namespace {

using namespace std::chrono_literals;
using distribute::LocalCluster;
using distribute::ParameterServerStrategy;
using test::counted_source;

constexpr std::int64_t kUnknownElements = 23;

Dataset unknown(std::int64_t elements = kUnknownElements) {
  return counted_source({.elements = elements, .known = false});
}

// What a program sees of such data.
struct Seen {
  std::vector<std::int64_t> batches;  // after which a hook came
  std::vector<std::int64_t> iterations;
  std::vector<double> loss;
  double evaluated = 0.0;
  std::vector<float> predicted;
};

class NoteEnds : public Callback {
 public:
  explicit NoteEnds(Seen& seen) : seen_(seen) {}
  void on_train_batch_end(std::int64_t batch, Logs&) override { seen_.batches.push_back(batch); }
  void on_epoch_end(std::int64_t, Logs&) override {
    seen_.iterations.push_back(read_now(model().optimizer()->iterations()).item<std::int64_t>());
  }

 private:
  Seen& seen_;
};

struct Setting {
  std::optional<std::int64_t> steps_per_epoch;
  std::int64_t steps_per_execution;
};

Seen run_with(const Setting& setting) {
  Sequential model({layers::Dense(1, {.use_bias = false, .kernel_initializer = "ones"})});
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse", .steps_per_execution = setting.steps_per_execution});
  Seen seen;
  seen.loss = model.fit(unknown(), {.epochs = 3,
                                    .verbose = 0,
                                    .steps_per_epoch = setting.steps_per_epoch,
                                    .callbacks = {make<NoteEnds>(seen)}})["loss"];
  seen.evaluated = model.evaluate(unknown(), {.verbose = 0, .steps = setting.steps_per_epoch}).at("loss");
  const Dataset inputs = unknown().map([](const Tensor& x, const Tensor&) { return x; });
  const Tensor predicted = model.predict(inputs, {.verbose = 0, .steps = setting.steps_per_epoch});
  seen.predicted = predicted.to_vector<float>();
  return seen;
}

class UnknownLength : public testing::TestWithParam<Setting> {};

TEST_P(UnknownLength, EndsAsItDoesWithoutACluster) {
  const test::Deadline deadline(60s);
  const Seen local = run_with(GetParam());
  for (const int workers : {1, 3}) {
    SCOPED_TRACE(workers);
    LocalCluster cluster({{"worker", workers}, {"ps", 1}});
    ParameterServerStrategy strategy(cluster.resolver());
    auto scope = strategy.scope();
    const Seen remote = run_with(GetParam());
    EXPECT_EQ(remote.batches, local.batches);
    EXPECT_EQ(remote.iterations, local.iterations);
    ASSERT_EQ(remote.loss.size(), local.loss.size());
    for (std::size_t i = 0; i < local.loss.size(); ++i) EXPECT_NEAR(remote.loss[i], local.loss[i], 1e-2) << i;
    EXPECT_NEAR(remote.evaluated, local.evaluated, 1e-2);
    EXPECT_EQ(remote.predicted, local.predicted);
  }
}

// Without a number, more than there is, less than there is, and exactly so many (when the next epoch finds nothing).
INSTANTIATE_TEST_SUITE_P(Steps, UnknownLength,
                         testing::Values(Setting{std::nullopt, 1}, Setting{std::nullopt, 4}, Setting{100, 4},
                                         Setting{10, 4}, Setting{kUnknownElements, 1}, Setting{kUnknownElements, 5}),
                         [](const auto& info) {
                           const std::optional<std::int64_t>& steps = info.param.steps_per_epoch;
                           return (steps ? std::to_string(*steps) : "Until_the_end") + "_by_" +
                                  std::to_string(info.param.steps_per_execution);
                         });

TEST(UnknownLengths, OfSeveralPipelinesAreAllTaken) {
  const test::Deadline deadline(60s);
  LocalCluster cluster({{"worker", 3}, {"ps", 1}});
  ParameterServerStrategy strategy(cluster.resolver());
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse", .steps_per_execution = 4});
  const DatasetCreator creator([](const InputContext& context) { return unknown(5 + 7 * context.input_pipeline_id); });
  model.fit(creator, {.epochs = 2, .verbose = 0});
  EXPECT_EQ(read_now(model.optimizer()->iterations()).item<std::int64_t>(), 2 * (5 + 12 + 19));
}

TEST(UnknownLengths, OfNothingAreAnErrorThatSaysSo) {
  const test::Deadline deadline(60s);
  LocalCluster cluster({{"worker", 2}, {"ps", 1}});
  ParameterServerStrategy strategy(cluster.resolver());
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_THROW(model.fit(unknown(0), {.verbose = 0}), Error);
  EXPECT_THROW(model.evaluate(unknown(0), {.verbose = 0}), Error);
  EXPECT_THROW(model.predict(unknown(0).map([](const Tensor& x, const Tensor&) { return x; }), {.verbose = 0}), Error);
}

}  // namespace
}  // namespace cohort
