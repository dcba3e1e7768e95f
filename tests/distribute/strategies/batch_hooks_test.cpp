// Batch hooks on a cluster: each comes once, in order, and none makes a worker wait.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "cohort/cohort.h"
#include "cohort/model/fit/progress.h"
#include "tests/support/counted_source.h"
#include "tests/support/kills_wanted.h"
#include "tests/support/paths.h"
#include "tests/support/patience.h"
#include "tests/support/resident_memory.h"

namespace cohort {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using distribute::LocalCluster;
using distribute::ParameterServerStrategy;
using test::counted_source;

// Far longer than what the cluster itself takes for a step, also where a sanitizer slows it down.
constexpr std::chrono::milliseconds kStep = test::patience(20ms);

// One pipeline for each worker, of steps that take their time.
DatasetCreator slow_data(std::chrono::milliseconds step = kStep) {
  return DatasetCreator([step](const InputContext&) { return counted_source({.takes = step}); });
}

class ClusterOf {
 public:
  explicit ClusterOf(int workers, std::int64_t steps_per_execution = 1, double rate = 0.0)
      : cluster_({{"worker", workers}, {"ps", 1}}), strategy_(cluster_.resolver()) {
    auto scope = strategy_.scope();
    model_.reset(new Sequential({layers::Dense(1)}));
    model_->compile({.optimizer = optimizers::SGD(rate),
                     .loss = "mse",
                     .metrics = {"mae"},
                     .steps_per_execution = steps_per_execution});
  }
  Sequential& model() { return *model_; }
  History fit(const DatasetCreator& data, std::int64_t steps, const std::vector<Ref<Callback>>& callbacks,
              std::int64_t epochs = 1) {
    return model_->fit(data, {.epochs = epochs, .verbose = 0, .steps_per_epoch = steps, .callbacks = callbacks});
  }
  std::int64_t iterations() const { return read_now(model_->optimizer()->iterations()).item<std::int64_t>(); }

 private:
  LocalCluster cluster_;
  ParameterServerStrategy strategy_;
  std::unique_ptr<Sequential> model_;
};

class Empty : public Callback {};

// Writes down every batch hook, and what the logs say when it looks at them.
class BatchRecorder : public Callback {
 public:
  explicit BatchRecorder(bool looks = true) : looks_(looks) {}
  void on_train_batch_begin(std::int64_t batch) override {
    begins.push_back(batch);
    most_ahead = std::max(most_ahead, static_cast<std::int64_t>(begins.size() - ends.size()));
  }
  void on_train_batch_end(std::int64_t batch, Logs& logs) override {
    ends.push_back(batch);
    if (looks_) losses.push_back(logs.at("loss"));
  }
  std::vector<std::int64_t> begins, ends;
  std::vector<double> losses;
  std::int64_t most_ahead = 0;

 private:
  bool looks_;
};

// Eight workers do in a sixth of the time, or less, what one cannot do faster than its data comes.
class NoCallbackSlowsACluster : public testing::Test {
 protected:
  void expect_fast(const std::function<std::vector<Ref<Callback>>()>& callbacks) {
    constexpr std::int64_t kSteps = 200;
    const auto longest = kSteps * kStep / 6;
    ClusterOf cluster(8);
    cluster.fit(slow_data(1ms), 16, {});  // traces, registers
    Clock::duration best = Clock::duration::max();
    for (int tries = 0; tries < 3 && best > longest; ++tries) {  // others may use this machine
      const auto begin = Clock::now();
      cluster.fit(slow_data(), kSteps, callbacks());
      best = std::min(best, Clock::now() - begin);
    }
    EXPECT_LE(best, longest) << std::chrono::duration<double>(best).count() << " s";
  }
};

TEST_F(NoCallbackSlowsACluster, None) {
  expect_fast([] { return std::vector<Ref<Callback>>(); });
}

TEST_F(NoCallbackSlowsACluster, AProgressBarOnATerminal) {
  std::ostringstream out;
  expect_fast([&] { return std::vector<Ref<Callback>>{Ref<Callback>(std::make_shared<ProgressBar>(out, true))}; });
}

TEST_F(NoCallbackSlowsACluster, TerminateOnNaN) {
  expect_fast([] { return std::vector<Ref<Callback>>{callbacks::TerminateOnNaN()}; });
}

TEST_F(NoCallbackSlowsACluster, OneWithoutHooks) {
  expect_fast([] { return std::vector<Ref<Callback>>{make<Empty>()}; });
}

TEST_F(NoCallbackSlowsACluster, OneThatLooksAtEveryBatch) {
  expect_fast([] { return std::vector<Ref<Callback>>{make<BatchRecorder>()}; });
}

TEST_F(NoCallbackSlowsACluster, TensorBoardOfBatches) {
  const test::TemporaryFolder folder;
  expect_fast([&] {
    return std::vector<Ref<Callback>>{callbacks::TensorBoard({.log_dir = folder.file("logs"), .update_freq = 10})};
  });
}

TEST(ClusterBatchHooks, ComeOnceForEachExecutionInOrder) {
  constexpr std::int64_t kWorkers = 4;
  for (const std::int64_t steps_per_execution : {1, 3}) {
    ClusterOf cluster(kWorkers, steps_per_execution);
    const auto recorder = std::make_shared<BatchRecorder>();
    cluster.fit(slow_data(1ms), 50, {Ref<Callback>(recorder)}, 2);
    std::vector<std::int64_t> begins, ends;
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (std::int64_t i = 0; i < 50; i += steps_per_execution) {
        begins.push_back(i);
        ends.push_back(std::min<std::int64_t>(i + steps_per_execution, 50) - 1);
      }
    }
    EXPECT_EQ(recorder->begins, begins);
    EXPECT_EQ(recorder->ends, ends);
    EXPECT_LE(recorder->most_ahead, 8 * kWorkers);
    for (const double loss : recorder->losses) EXPECT_TRUE(std::isfinite(loss));
  }
}

TEST(ClusterBatchHooks, OfOneWorkerHaveTheFiguresOfLocalTraining) {
  const auto train = [](const std::shared_ptr<BatchRecorder>& recorder) {
    set_random_seed(5);
    Sequential model({layers::Dense(1)});
    model.compile({.optimizer = optimizers::SGD(1e-4), .loss = "mse"});
    return model.fit(counted_source({.elements = 12}),
                     {.epochs = 2, .verbose = 0, .callbacks = {Ref<Callback>(recorder)}})["loss"];
  };
  const auto local = std::make_shared<BatchRecorder>(), remote = std::make_shared<BatchRecorder>();
  const std::vector<double> local_loss = train(local);
  LocalCluster cluster({{"worker", 1}, {"ps", 1}});
  ParameterServerStrategy strategy(cluster.resolver());
  auto scope = strategy.scope();
  const std::vector<double> remote_loss = train(remote);
  EXPECT_EQ(local->ends, remote->ends);
  for (std::size_t i = 0; i < local_loss.size(); ++i) EXPECT_NEAR(local_loss[i], remote_loss[i], 1e-5 * local_loss[i]);
  // The figures of a batch may hold a few that were done since.
  EXPECT_NEAR(local->losses.at(11), remote->losses.at(11), 1e-5 * local->losses[11]);
  EXPECT_NEAR(local->losses.at(23), remote->losses.at(23), 1e-5 * local->losses[23]);
}

class SeesStep : public Callback {
 public:
  explicit SeesStep(std::int64_t every) : every_(every) {}
  void on_train_batch_end(std::int64_t batch, Logs&) override {
    if ((batch + 1) % every_ != 0) return;
    at.push_back(batch);
    iterations.push_back(read_now(model().optimizer()->iterations()).item<std::int64_t>());
    weights.push_back(read_now(model().weights()[0]).to_vector<float>()[0]);
  }
  std::int64_t batches_until_quiet() const override { return every_; }
  std::vector<std::int64_t> at, iterations;
  std::vector<float> weights;

 private:
  std::int64_t every_;
};

TEST(ClusterBatchHooks, AreAtAQuietPointWhereTheyAskForOne) {
  ClusterOf cluster(4, 1, 1e-9);
  const auto sees = std::make_shared<SeesStep>(10);
  cluster.fit(slow_data(1ms), 40, {Ref<Callback>(sees)});
  EXPECT_EQ(sees->at, (std::vector<std::int64_t>{9, 19, 29, 39}));
  EXPECT_EQ(sees->iterations, (std::vector<std::int64_t>{10, 20, 30, 40}));
}

TEST(ClusterBatchHooks, AModelIsSavedAtEveryNthBatch) {
  const test::TemporaryFolder folder;
  ClusterOf cluster(3, 2);
  cluster.fit(slow_data(1ms), 20,
              {callbacks::ModelCheckpoint(folder.file("{epoch}-{batch}.keras"), {.save_freq = 8}),
               callbacks::BackupAndRestore(folder.file("backup"), {.save_freq = 6})},
              2);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"1-16.keras", "1-8.keras", "2-12.keras", "2-20.keras", "2-4.keras"}));
}

class StopAt : public Callback {
 public:
  explicit StopAt(std::int64_t batch) : batch_(batch) {}
  void on_train_batch_end(std::int64_t batch, Logs&) override {
    ++hooks;
    if (batch == batch_) model().stop_training = true;
  }
  std::int64_t hooks = 0;

 private:
  std::int64_t batch_;
};

TEST(ClusterBatchHooks, StopTrainingEndsTheRunSoon) {
  ClusterOf cluster(4);
  const auto stop = std::make_shared<StopAt>(9);
  const auto begin = Clock::now();
  const History history = cluster.fit(slow_data(5ms), 100'000, {Ref<Callback>(stop)}, 3);
  EXPECT_LT(Clock::now() - begin, 2s);
  EXPECT_EQ(history.epoch().size(), 1u);
  EXPECT_EQ(stop->hooks, 10);
  EXPECT_LT(cluster.iterations(), 60);
}

// A million of them where somebody wants to be sure.
TEST(ManyExecutions, TakeNoMoreMemoryThanFew) {
  const std::int64_t executions = test::kills_wanted(0) > 0 ? 1'000'000 : 20'000;
  LocalCluster cluster({{"worker", 2}, {"ps", 1}});
  ParameterServerStrategy strategy(cluster.resolver());
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1, {.activation = "sigmoid"})});
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse", .metrics = {metrics::AUC()}});
  const DatasetCreator data([](const InputContext&) { return counted_source({}); });
  const auto fit = [&](std::int64_t steps) { model.fit(data, {.verbose = 0, .steps_per_epoch = steps}); };
  fit(2000);
  const std::int64_t before = test::resident_bytes();
  fit(executions);
  EXPECT_LT(test::resident_bytes() - before, (50 << 20) + test::kFreedAndKept);
}

// Looks at the newest figures a few times a second.
class Sampler : public Callback {
 public:
  void on_train_batch_end(std::int64_t batch, Logs& logs) override {
    batches.push_back(batch);
    losses.push_back(logs.at("loss"));
  }
  BatchHooks batch_hooks() const override { return BatchHooks::Sampled; }
  std::vector<std::int64_t> batches;
  std::vector<double> losses;
};

TEST(ClusterBatchHooks, SampledOnesFollowWhatIsDone) {
  ClusterOf cluster(2);
  const auto sampler = std::make_shared<Sampler>();
  cluster.fit(slow_data(10ms), 120, {Ref<Callback>(sampler)});
  ASSERT_GE(sampler->batches.size(), 4u);
  EXPECT_LE(sampler->batches.size(), 40u);
  EXPECT_TRUE(std::is_sorted(sampler->batches.begin(), sampler->batches.end()));
  // All is scheduled long before it is done; the figures come until the end.
  EXPECT_GT(sampler->batches.back(), 60);
}

}  // namespace
}  // namespace cohort
