// Ctrl-C and SIGTERM: a run ends in bounded time, in good order, and a SIGTERM leaves a backup of the very place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iostream>

#include "tests/faults/own_tasks.h"
#include "tests/faults/summing.h"
#include "tests/support/counted_source.h"
#include "tests/support/deadline.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr int kWorkers = 2, kEpochs = 2;
constexpr std::int64_t kElements = 200;  // of each worker's pipeline, in an epoch

// Tells the test, by files, how far it is.
class TellsByFiles : public Callback {
 public:
  void on_train_begin() override { note("begun", iterations()); }
  void on_train_batch_end(std::int64_t batch, Logs&) override {
    if (batch >= 40 && !std::exchange(told_, true)) note("training", batch);
  }
  void on_train_end(Logs&) override { note("ended", iterations()); }
  bool needs_built_model() const override { return true; }

 private:
  std::int64_t iterations() const { return read_now(model().optimizer()->iterations()).item<std::int64_t>(); }
  static void note(const std::string& name, std::int64_t number) {
    std::ofstream(name + ".part") << number;
    std::filesystem::rename(name + ".part", name);
  }
  bool told_ = false;
};

int lead(bool endless) {
  try {
    distribute::ParameterServerStrategy strategy(distribute::TFConfigClusterResolver(), kOnBothServers);
    auto scope = strategy.scope();
    SummingModel model;
    const std::int64_t elements = endless ? -1 : kElements;
    const DatasetCreator data(
        [elements](const InputContext&) { return counted_source({.elements = elements, .takes = 5ms}); });
    FitOptions options{.epochs = kEpochs, .verbose = 0};
    if (endless) options.steps_per_epoch = 1'000'000'000;
    if (!endless) options.callbacks.push_back(callbacks::BackupAndRestore("backup"));
    options.callbacks.push_back(make<TellsByFiles>());  // sees what was restored
    model.fit(data, options);
    std::ofstream("result") << sums_of(model);
    return 0;
  } catch (const Error& error) {
    std::cerr << error.what() << std::endl;
    return error.code() == ErrorCode::Cancelled ? 3 : 4;
  }
}

TEST(InterruptedChief, DISABLED_Endless) { std::exit(lead(true)); }
TEST(InterruptedChief, DISABLED_BacksUp) { std::exit(lead(false)); }

bool exists(const TemporaryFolder& folder, const std::string& name) {
  return std::filesystem::exists(folder.path() / name);
}

TEST(InterruptedChief, EndsAnEndlessEpochWithinTwoSeconds) {
  const Deadline deadline(120s);
  for (const int number : {SIGINT, SIGTERM}) {
    OwnTasks tasks(kWorkers, 2);
    const TemporaryFolder folder;
    const auto chief = start_own_task(tasks.spec(), "chief", 0, "InterruptedChief.DISABLED_Endless", folder.path());
    ASSERT_TRUE(becomes_true([&] { return exists(folder, "training"); }, 30s)) << chief->errors();
    const auto begin = std::chrono::steady_clock::now();
    chief->signal(number);
    EXPECT_EQ(chief->wait(), 3) << chief->errors();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
    EXPECT_TRUE(exists(folder, "ended"));
    EXPECT_THAT(chief->errors(), HasSubstr(number == SIGTERM ? "ended by SIGTERM" : "interrupted from the keyboard"));
    for (int i = 0; i < kWorkers; ++i) EXPECT_EQ(tasks.worker(i).wait(), 0) << tasks.worker(i).errors();
  }
}

TEST(InterruptedChief, GoesOnFromWhereSIGTERMCame) {
  const Deadline deadline(120s);
  const TemporaryFolder folder;
  const std::string test = "InterruptedChief.DISABLED_BacksUp";
  {
    OwnTasks tasks(kWorkers, 2);
    const auto chief = start_own_task(tasks.spec(), "chief", 0, test, folder.path());
    ASSERT_TRUE(becomes_true([&] { return exists(folder, "training"); }, 30s)) << chief->errors();
    chief->signal(SIGTERM);
    EXPECT_EQ(chief->wait(), 3) << chief->errors();
    EXPECT_TRUE(exists(folder, "backup"));
  }
  const std::string ended = content_of(folder.file("ended"));
  EXPECT_GE(std::stoll(ended), 40);
  EXPECT_LT(std::stoll(ended), kEpochs * kWorkers * kElements);
  OwnTasks tasks(kWorkers, 2);
  const auto chief = start_own_task(tasks.spec(), "chief", 0, test, folder.path());
  EXPECT_EQ(chief->wait(), 0) << chief->errors();
  EXPECT_EQ(content_of(folder.file("begun")), ended) << "every step that was done is in the backup";
  const std::int64_t sum = kEpochs * kWorkers * kElements * (kElements + 1) / 2;
  std::stringstream expected;
  expected << Sums{{sum, sum}, kEpochs * kWorkers * kElements};
  EXPECT_EQ(content_of(folder.file("result")), expected.str());
  EXPECT_FALSE(exists(folder, "backup"));
}

}  // namespace
}  // namespace cohort::test
