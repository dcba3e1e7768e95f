#include "cohort/saving/checkpoint_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cohort/files/atomic_file.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

// A run whose whole state is one number.
struct CountingRun {
  explicit CountingRun(std::string directory, CheckpointManagerOptions options = {}, bool async = false)
      : checkpoint({.variables = {{"count", count}}}, {.enable_async = async}),
        manager(checkpoint, std::move(directory), std::move(options)) {}
  float value() const { return read_now(count).item<float>(); }
  std::optional<std::string> save(float value) {
    count.assign(Tensor::scalar(value));
    return manager.save();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const std::string& path : manager.checkpoints()) names.push_back(fs::path(path).filename());
    return names;
  }

  Variable count{Tensor::scalar(0)};
  Checkpoint checkpoint;
  CheckpointManager manager;
};

std::vector<std::string> indexes_in(const std::string& folder) { return checkpoints_in(folder); }

class Managers : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Modes, Managers, testing::Bool(),
                         [](const auto& info) { return info.param ? "Async" : "Sync"; });

TEST_P(Managers, KeepTheLastOnes) {
  const TemporaryFolder folder;
  const std::string directory = folder.file("run");
  {
    CountingRun run(directory, {.max_to_keep = 2}, GetParam());
    EXPECT_FALSE(run.manager.latest_checkpoint());
    EXPECT_FALSE(run.manager.restore_or_initialize());
    for (int i = 1; i <= 4; ++i) EXPECT_EQ(run.save(static_cast<float>(i)), directory + "/ckpt-" + std::to_string(i));
    run.manager.sync();
    EXPECT_THAT(run.names(), ElementsAre("ckpt-3", "ckpt-4"));
    EXPECT_EQ(run.manager.latest_checkpoint(), directory + "/ckpt-4");
  }
  EXPECT_THAT(indexes_in(directory), ElementsAre("ckpt-3", "ckpt-4"));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), {}), 5) << "two indexes, their data, the list";
  EXPECT_EQ(latest_checkpoint(directory), directory + "/ckpt-4");

  CountingRun again(directory, {.max_to_keep = 2}, GetParam());
  EXPECT_THAT(again.names(), ElementsAre("ckpt-3", "ckpt-4"));
  const auto restored = again.manager.restore_or_initialize();
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->path, directory + "/ckpt-4");
  EXPECT_EQ(again.value(), 4);
  again.save(5);
  again.manager.sync();
  EXPECT_THAT(again.names(), ElementsAre("ckpt-4", "ckpt-5"));
}

TEST(CheckpointManager, KeepsAllWhenNoNumberIsGiven) {
  const TemporaryFolder folder;
  CountingRun run(folder.file("run"), {.max_to_keep = std::nullopt});
  for (int i = 1; i <= 7; ++i) run.save(static_cast<float>(i));
  EXPECT_EQ(run.names().size(), 7u);
}

TEST(CheckpointManager, NeverWritesOverWhatARunBeforeHasSaved) {
  const TemporaryFolder folder;
  for (int i = 1; i <= 3; ++i) {
    CountingRun run(folder.file("run"));
    EXPECT_EQ(run.save(static_cast<float>(i)), folder.file("run/ckpt-" + std::to_string(i)));
  }
}

TEST(CheckpointManager, KeepsOneInSoManyHoursForGood) {
  const TemporaryFolder folder;
  constexpr double kHours = 0.5 / 3600;  // half a second
  CountingRun run(folder.file("run"), {.max_to_keep = 1, .keep_checkpoint_every_n_hours = kHours});
  for (int i = 1; i <= 5; ++i) {
    run.save(static_cast<float>(i));
    if (i == 3) std::this_thread::sleep_for(std::chrono::milliseconds(600));
  }
  // The first is kept because the clock begins a second before it, the next only after half a second.
  EXPECT_THAT(run.names(), ElementsAre("ckpt-5"));
  EXPECT_THAT(indexes_in(folder.file("run")), ElementsAre("ckpt-1", "ckpt-4", "ckpt-5"));
}

TEST(CheckpointManager, SavesOnceInAnInterval) {
  const TemporaryFolder folder;
  Variable steps(Tensor::scalar(0, DType::Int64), {.dtype = DType::Int64});
  CountingRun run(folder.file("run"), {.step_counter = steps, .checkpoint_interval = 3});
  std::vector<std::int64_t> saved_at;
  for (std::int64_t step = 0; step < 8; ++step) {
    steps.assign(Tensor::scalar(static_cast<double>(step), DType::Int64));
    if (run.manager.save()) saved_at.push_back(step);
  }
  EXPECT_THAT(saved_at, ElementsAre(0, 3, 6));
  EXPECT_TRUE(run.manager.save({}, std::nullopt, /*check_interval=*/false));
  EXPECT_FALSE(run.manager.save({}, std::nullopt, /*check_interval=*/false)) << "nothing new since";
  EXPECT_THAT(error_of([&] { CountingRun other(folder.file("x"), {.checkpoint_interval = 3}); }),
              HasSubstr("step_counter"));
}

TEST(CheckpointManager, InitializesWhenThereIsNothing) {
  const TemporaryFolder folder;
  int calls = 0;
  CountingRun run(folder.file("run"), {.init_fn = [&] { ++calls; }});
  EXPECT_FALSE(run.manager.restore_or_initialize());
  EXPECT_EQ(calls, 1);
  run.save(1);
  EXPECT_TRUE(run.manager.restore_or_initialize());
  EXPECT_EQ(calls, 1);
}

std::string data_file_of(const std::string& path) {
  for (const auto& entry : fs::directory_iterator(fs::path(path).parent_path())) {
    if (entry.path().string().starts_with(path + ".data-")) return entry.path();
  }
  return {};
}

void flip_last_byte(const std::string& file) {
  std::string bytes = read_file(file);
  bytes.back() ^= 1;
  write_file_atomically(file, bytes);
}

TEST(CheckpointManager, FallsBackToTheNewestGoodOneAndSaysSo) {
  const TemporaryFolder folder;
  const std::string directory = folder.file("run");
  {
    CountingRun run(directory);
    for (int i = 1; i <= 4; ++i) run.save(static_cast<float>(i));
  }
  flip_last_byte(data_file_of(directory + "/ckpt-4"));
  flip_last_byte(directory + "/ckpt-3.index");
  {
    CountingRun run(directory);
    testing::internal::CaptureStderr();
    const auto restored = run.manager.restore_or_initialize();
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->path, directory + "/ckpt-2");
    EXPECT_EQ(run.value(), 2);
    EXPECT_EQ(run.manager.latest_checkpoint(), directory + "/ckpt-2");
    EXPECT_THAT(said, HasSubstr("ckpt-4' cannot be used"));
    EXPECT_THAT(said, HasSubstr("the checksum of 'variables/count' does not fit"));
    EXPECT_THAT(said, HasSubstr("ckpt-3' cannot be used"));
    EXPECT_THAT(said, HasSubstr("ckpt-2' is restored instead"));
    EXPECT_EQ(run.save(5), directory + "/ckpt-5");
  }
  CountingRun run(directory);
  run.manager.restore_or_initialize();
  EXPECT_EQ(run.value(), 5);
}

TEST(CheckpointManager, DoesNotBeginAnewWhenAllAreDamaged) {
  const TemporaryFolder folder;
  CountingRun run(folder.file("run"), {.init_fn = [] { FAIL(); }});
  run.save(1);
  fs::remove(data_file_of(folder.file("run/ckpt-1")));
  const std::string error = error_of([&] { run.manager.restore_or_initialize(); });
  EXPECT_THAT(error, HasSubstr("DataLoss CheckpointManager: "));
  EXPECT_THAT(error, HasSubstr("it is missing"));
}

TEST(CheckpointManager, ARunWithOtherVariablesIsAnErrorNotAReasonToGoBack) {
  const TemporaryFolder folder;
  CountingRun(folder.file("run")).save(1);
  Variable other(Tensor::full({2}, 0));
  Checkpoint checkpoint({.variables = {{"count", other}}});
  CheckpointManager manager(checkpoint, folder.file("run"));
  EXPECT_THAT(error_of([&] { manager.restore_or_initialize(); }), HasSubstr("FailedPrecondition"));
}

TEST(CheckpointManager, FindsItsCheckpointsWithoutTheList) {
  const TemporaryFolder folder;
  const std::string directory = folder.file("run");
  {
    CountingRun run(directory);
    for (int i = 1; i <= 11; ++i) run.save(static_cast<float>(i));
  }
  for (const char* text : {"", "{", "{\"model_checkpoint_path\": 3}", "{\"model_checkpoint_path\": \"../x\"}"}) {
    write_file_atomically(directory + "/checkpoint", text);
    EXPECT_EQ(latest_checkpoint(directory), directory + "/ckpt-11") << text;
    CountingRun run(directory);
    EXPECT_TRUE(run.manager.restore_or_initialize());
    EXPECT_EQ(run.value(), 11) << text;
  }
  fs::remove(directory + "/checkpoint");
  EXPECT_EQ(latest_checkpoint(directory), directory + "/ckpt-11");
  EXPECT_FALSE(latest_checkpoint(folder.file("nothing")));
}

// What kills at each moment of a save leave behind.
TEST(CheckpointManager, TidiesUpAfterAKilledWriterAndAdoptsWhatItFinished) {
  const TemporaryFolder folder;
  const std::string directory = folder.file("run"), elsewhere = folder.file("elsewhere");
  CountingRun(directory).save(1);
  {
    CountingRun run(elsewhere);
    run.save(1);
    run.save(2);
  }
  std::ofstream(directory + "/ckpt-2.data-0123456789abcdef-00000-of-00001.tmp.17.0") << "ha";
  std::ofstream(directory + "/ckpt-2.data-fedcba9876543210-00000-of-00001") << "whole, without an index";
  std::ofstream(directory + "/ckpt-2.index.tmp.17.3") << "{";
  std::ofstream(directory + "/checkpoint.tmp.17.3") << "{";
  // Somebody else's.
  std::ofstream(directory + "/ckpt-notes.txt") << "mine";
  std::ofstream(directory + "/ckpt-notes.tmp.txt") << "mine";
  std::ofstream(directory + "/ckpt-b-1.index.tmp.17.3") << "of another manager";
  { CountingRun tidied(directory); }
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), {}), 6) << "index, data, list and what is not its own";

  // Killed between the index and the list.
  const std::string data = data_file_of(elsewhere + "/ckpt-2");
  fs::copy(data, directory + "/" + fs::path(data).filename().string());
  fs::copy(elsewhere + "/ckpt-2.index", directory + "/ckpt-2.index");
  CountingRun run(directory);
  EXPECT_THAT(run.names(), ElementsAre("ckpt-1", "ckpt-2"));
  run.manager.restore_or_initialize();
  EXPECT_EQ(run.value(), 2);
}

TEST(CheckpointManager, RefusesWhatItCannotDo) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& directory, CheckpointManagerOptions options) {
    return error_of([&] { CountingRun run(directory, std::move(options)); });
  };
  EXPECT_THAT(error("", {}), HasSubstr("directory=''"));
  EXPECT_THAT(error(folder.file("x"), {.max_to_keep = 0}), HasSubstr("max_to_keep=0"));
  EXPECT_THAT(error(folder.file("x"), {.checkpoint_name = "a/b"}), HasSubstr("checkpoint_name='a/b'"));
  CountingRun run(folder.file("x"));
  EXPECT_THAT(error_of([&] { run.manager.save({}, -1); }), HasSubstr("checkpoint_number=-1"));
}

}  // namespace
}  // namespace cohort
