// An evaluator beside a training that takes old checkpoints away, killed at any moment and started again: it evaluates
// every checkpoint once, logs every figure once, and stops a training that no longer improves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <thread>

#include "cohort/callbacks/callbacks.h"
#include "cohort/datasets/datasets.h"
#include "cohort/distribute/evaluator.h"
#include "cohort/layers/layers.h"
#include "cohort/losses/losses.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/saving/checkpoint_manager.h"
#include "tests/faults/random_kills.h"
#include "tests/summary/events_of.h"
#include "tests/support/deadline.h"
#include "tests/support/kills_wanted.h"
#include "tests/support/paths.h"

namespace cohort::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::IsSubsetOf;

constexpr const char* kWatchedRun = "COHORT_TEST_FOLDER";
constexpr const char* kWatchedRate = "COHORT_TEST_RATE";
constexpr const char* kWatchedPatience = "COHORT_TEST_PATIENCE";
constexpr const char* kWatchedKept = "COHORT_TEST_KEPT";
constexpr std::int64_t kManyEpochs = 1'000'000;

std::string in_watched_run(const std::string& name) { return (fs::path(std::getenv(kWatchedRun)) / name).string(); }

std::unique_ptr<Model> watched_model() {
  auto model = std::make_unique<Sequential>(
      std::vector<Ref<Layer>>{layers::Dense(32, {.activation = "relu"}), layers::Dense(10)});
  const char* rate = std::getenv(kWatchedRate);
  model->compile({.optimizer = optimizers::Adam(rate ? std::atof(rate) : 1e-3),
                  .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                  .metrics = {"accuracy"}});
  return model;
}

Dataset watched_samples() {
  std::vector<float> x(24 * 16);
  std::vector<std::int32_t> y(24);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1000) / 500.0f - 1.0f;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int32_t>(i * i % 10);
  return datasets::from_tensor_slices(Tensor::of(x, {24, 16}), Tensor::of(y, {24})).batch(8);
}

// Saves after every epoch, keeps the newest, and lists all there ever were. One that keeps a single one is in a hurry.
class RollingCheckpoints : public Callback {
 public:
  void on_train_begin() override {
    checkpoint_ = std::make_unique<Checkpoint>(CheckpointContent{.model = &model()});
    manager_ = std::make_unique<CheckpointManager>(*checkpoint_, in_watched_run("ckpt"),
                                                   CheckpointManagerOptions{.max_to_keep = kept_});
  }
  void on_epoch_end(std::int64_t, Logs&) override {
    const fs::path saved(*manager_->save());
    std::ofstream(in_watched_run("saved"), std::ios::app) << saved.filename().string() << "\n" << std::flush;
    if (kept_ > 1) std::this_thread::sleep_for(20ms);
    if (fs::exists(in_watched_run("enough"))) model().stop_training = true;
  }
  bool needs_built_model() const override { return true; }

 private:
  const std::int64_t kept_ = std::atoll(std::getenv(kWatchedKept));
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<CheckpointManager> manager_;
};

// The programs: this test's own binary.
TEST(KilledEvaluator, DISABLED_Chief) {
  const std::unique_ptr<Model> model = watched_model();
  model->fit(watched_samples(),
             {.epochs = kManyEpochs,
              .verbose = 0,
              .callbacks = {make<RollingCheckpoints>(), callbacks::StopFromEvaluator(in_watched_run("ckpt"))}});
}

TEST(KilledEvaluator, DISABLED_Evaluator) {
  const std::unique_ptr<Model> model = watched_model();
  const std::int64_t patience = std::atoll(std::getenv(kWatchedPatience));
  distribute::SidecarEvaluator(*model, watched_samples(), in_watched_run("ckpt"),
                               {.callbacks = {callbacks::SidecarEvaluatorEarlyStopping({.patience = patience})},
                                .log_dir = in_watched_run("logs"),
                                .verbose = 0,
                                .poll_interval = 0.01,
                                .timeout = 30.0})
      .start();
}

// A chief and an evaluator with folders of their own inside the one they share.
class WatchedRun {
 public:
  WatchedRun(const char* rate, std::int64_t patience, std::int64_t kept)
      : environment_({{kWatchedRun, folder_.path().string()},
                      {kWatchedRate, rate},
                      {kWatchedPatience, std::to_string(patience)},
                      {kWatchedKept, std::to_string(kept)}}) {}

  std::unique_ptr<StartedProgram> start(const std::string& task) {
    fs::create_directories(folder_.path() / task);
    return std::make_unique<StartedProgram>(
        "tests/faults_test",
        StartedProgramOptions{.arguments = {"--gtest_filter=KilledEvaluator.DISABLED_" + task,
                                            "--gtest_also_run_disabled_tests", "--gtest_brief=1"},
                              .environment = environment_},
        folder_.path() / task);
  }
  void end_training() const { std::ofstream(folder_.file("enough")) << "\n"; }

  std::vector<std::string> saved() const {
    std::istringstream lines(content_of(folder_.file("saved")));
    std::vector<std::string> names;
    for (std::string line; std::getline(lines, line);) names.push_back(line);
    return names;
  }
  // Steps by name; each name at most once.
  std::map<std::string, std::int64_t> evaluated() const {
    std::map<std::string, std::int64_t> steps;
    const std::string text = content_of(folder_.file("ckpt/evaluations.json"));
    if (text.empty()) return steps;
    const auto journal = nlohmann::json::parse(text);
    for (const auto& each : journal.at("evaluations")) {
      const auto name = each.at("checkpoint").get<std::string>();
      EXPECT_TRUE(steps.emplace(name, each.at("step").get<std::int64_t>()).second) << name << " is there twice";
    }
    return steps;
  }
  std::map<std::int64_t, int> logged(const std::string& tag) const {
    std::map<std::int64_t, int> steps;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "logs" / "validation")) {
      for (const summary::Event& event : summary::events_of(entry.path().string())) {
        for (const auto& value : event.summary().value()) steps[event.step()] += value.tag() == tag;
      }
    }
    return steps;
  }
  // Of all that were saved, the names of those that were evaluated and logged; once each.
  std::vector<std::string> evaluated_and_logged() const {
    std::map<std::int64_t, int> each_step_once;
    std::vector<std::string> names;
    for (const auto& [name, step] : evaluated()) {
      names.push_back(name);
      each_step_once[step] = 1;
      EXPECT_EQ("ckpt-" + std::to_string(step / 3), name) << "three steps are an epoch";
    }
    EXPECT_THAT(names, IsSubsetOf(saved()));
    EXPECT_EQ(logged("evaluation_loss_vs_iterations"), each_step_once);
    EXPECT_EQ(logged("evaluation_accuracy_vs_iterations"), each_step_once);
    return names;
  }

 private:
  const TemporaryFolder folder_;
  const std::vector<std::pair<std::string, std::string>> environment_;
};

TEST(KilledEvaluator, EvaluatesAndLogsEveryCheckpointOnce) {
  constexpr std::int64_t kKept = 20;
  const int kills = kills_wanted(6);
  const Deadline deadline(std::chrono::seconds(90 + 2 * kills));
  WatchedRun run("1e-3", kManyEpochs, kKept);
  const auto chief = run.start("Chief");
  std::mt19937 random(std::random_device{}());
  for (int killed = 0; killed < kills; ++killed) {
    const auto evaluator = run.start("Evaluator");
    ASSERT_TRUE(outlives(*evaluator, std::chrono::microseconds(random() % 800'000)));
    const bool asked = killed % 3 == 2;  // it ends by itself, or at once where it had not begun
    evaluator->signal(asked ? SIGTERM : SIGKILL);
    const std::optional<int> code = evaluator->wait();
    EXPECT_TRUE(code == 128 + (asked ? SIGTERM : SIGKILL) || (asked && code == 0)) << evaluator->errors();
  }
  const std::size_t evaluated_before = run.evaluated().size();
  // From here on it is left alone, and keeps up.
  const auto evaluator = run.start("Evaluator");
  ASSERT_TRUE(becomes_true([&] { return run.evaluated().size() > evaluated_before; }));
  const std::size_t saved_before = run.saved().size();
  ASSERT_TRUE(becomes_true([&] { return run.saved().size() >= saved_before + 2 * kKept; }, 30s));
  run.end_training();
  EXPECT_EQ(chief->wait(), 0) << chief->output() << chief->errors();
  EXPECT_EQ(evaluator->wait(), 0) << evaluator->output() << evaluator->errors();

  const std::vector<std::string> saved = run.saved(), names = run.evaluated_and_logged();
  const std::vector<std::string> must_be(saved.begin() + static_cast<std::ptrdiff_t>(saved_before), saved.end());
  EXPECT_THAT(must_be, IsSubsetOf(names));
  std::printf("killed %d times: %zu checkpoints, %zu evaluated\n", kills, saved.size(), names.size());
}

// The chief takes each checkpoint away as soon as it has the next, also while it is read.
TEST(KilledEvaluator, SurvivesCheckpointsThatVanish) {
  const Deadline deadline(60s);
  WatchedRun run("1e-3", kManyEpochs, 1);
  const auto chief = run.start("Chief");
  const auto evaluator = run.start("Evaluator");
  ASSERT_TRUE(becomes_true([&] { return run.evaluated().size() >= 30; }, 30s)) << evaluator->errors();
  run.end_training();
  EXPECT_EQ(chief->wait(), 0) << chief->output() << chief->errors();
  EXPECT_EQ(evaluator->wait(), 0) << evaluator->output() << evaluator->errors();
  const std::vector<std::string> names = run.evaluated_and_logged();
  EXPECT_THAT(names, testing::Contains(run.saved().back()));
  std::printf("%zu checkpoints, %zu evaluated\n", run.saved().size(), names.size());
}

TEST(KilledEvaluator, StopsTheChiefAlsoAfterARestart) {
  const Deadline deadline(60s);
  WatchedRun run("0", 25, 20);
  const auto chief = run.start("Chief");
  auto evaluator = run.start("Evaluator");
  ASSERT_TRUE(becomes_true([&] { return run.evaluated().size() >= 3; })) << evaluator->errors();
  evaluator->signal(SIGKILL);
  evaluator->wait();
  evaluator = run.start("Evaluator");
  EXPECT_EQ(chief->wait(30s), 0) << chief->output() << chief->errors();
  EXPECT_THAT(chief->errors(), testing::HasSubstr("training stops, the evaluator asks for it after 'ckpt-"));
  EXPECT_EQ(evaluator->wait(), 0) << evaluator->output() << evaluator->errors();
  EXPECT_GT(run.evaluated().size(), 25u);
}

}  // namespace
}  // namespace cohort::test
