#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>

#include "cohort/files/atomic_file.h"
#include "cohort/files/crc32c.h"
#include "cohort/saving/checkpoint_manager.h"
#include "tests/support/error_of.h"
#include "tests/support/hindered_writes.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::TemporaryFolder;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

// A checkpoint of two variables in two files, and whoever restores it.
class DamagedCheckpoint : public testing::Test {
 protected:
  DamagedCheckpoint() {
    checkpoint_.write(path_);
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      if (entry.path().extension() != ".index") data_.push_back(entry.path());
    }
    std::sort(data_.begin(), data_.end());
    a_.assign(Tensor::full({100}, 5));
    b_.assign(Tensor::full({10, 9}, 6));
  }
  // The error of restoring; whatever it is, nothing may have changed.
  std::string restoring() {
    const std::string error = error_of([&] { checkpoint_.read(path_); });
    EXPECT_EQ(read_now(a_).to_vector<int>(), std::vector<int>(100, 5)) << error;
    EXPECT_EQ(read_now(b_).to_vector<int>(), std::vector<int>(90, 6)) << error;
    return error;
  }
  // The error after a change of the index that keeps its checksum right.
  std::string restoring_with(const std::string& from, const std::string& to) {
    const std::string whole = read_file(index_);
    std::string text = whole.substr(0, whole.size() - 9);
    const std::size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from << " is not in " << text;
    text.replace(place, from.size(), to);
    char sum[16];
    std::snprintf(sum, sizeof sum, "%08x\n", crc32c(text));
    write_file_atomically(index_, text + sum);
    const std::string error = restoring();
    write_file_atomically(index_, whole);
    return error;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("x"), index_ = path_ + ".index";
  Variable a_{Tensor::full({100}, 1)}, b_{Tensor::full({10, 9}, 2)};
  Checkpoint checkpoint_{{.variables = {{"a", a_}, {"b", b_}}}, {.max_shard_bytes = 400}};
  std::vector<std::string> data_;
};

TEST_F(DamagedCheckpoint, IsAsItIsUntilItIsDamaged) {
  ASSERT_EQ(data_.size(), 2u);
  checkpoint_.read(path_);
  EXPECT_EQ(read_now(b_).to_vector<int>(), std::vector<int>(90, 2));
}

TEST_F(DamagedCheckpoint, EveryFlippedByteIsNoticed) {
  std::vector<std::string> files = data_;
  files.push_back(index_);
  for (const std::string& file : files) {
    const std::string whole = read_file(file);
    for (std::size_t i = 0; i<whole.size(); i += whole.size()> 500 ? 7 : 1) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << (i % 8)));
      // In place: an atomic write of each would take its time.
      std::fstream(file, std::ios::in | std::ios::out | std::ios::binary) << bytes;
      ASSERT_THAT(restoring(), HasSubstr("DataLoss Checkpoint: ")) << file << " at " << i;
    }
    write_file_atomically(file, whole);
  }
}

TEST_F(DamagedCheckpoint, CutOffLengthenedAndMissingFilesAreNamed) {
  std::vector<std::string> files = data_;
  files.push_back(index_);
  for (const std::string& file : files) {
    const std::string whole = read_file(file);
    for (const std::string& bytes : {std::string(), whole.substr(0, 1), whole.substr(0, whole.size() / 2),
                                     whole.substr(0, whole.size() - 1), whole + " ", std::string(whole.size(), '\0')}) {
      write_file_atomically(file, bytes);
      EXPECT_THAT(restoring(), AllOf(HasSubstr("DataLoss"), HasSubstr(file))) << bytes.size();
    }
    fs::remove(file);
    EXPECT_THAT(restoring(), AllOf(AnyOf(HasSubstr("DataLoss"), HasSubstr("NotFound")), HasSubstr(file)));
    fs::create_directory(file);
    EXPECT_THAT(restoring(), HasSubstr(file));
    fs::remove(file);
    write_file_atomically(file, whole);
  }
}

TEST_F(DamagedCheckpoint, AnIndexIsNotBelieved) {
  const auto problem = [](const char* text) { return AllOf(HasSubstr("DataLoss"), HasSubstr(text)); };
  EXPECT_THAT(restoring_with("\"version\":1", "\"version\":2"), problem("version 2 is not known"));
  EXPECT_THAT(restoring_with("cohort checkpoint", "another checkpoint"), problem("something else"));
  EXPECT_THAT(restoring_with("\"id\"", "\"di\""), problem("'id' is missing"));
  EXPECT_THAT(restoring_with("float32", "float33"), problem("float33"));
  EXPECT_THAT(restoring_with("float32", "string"), problem("no bytes"));
  EXPECT_THAT(restoring_with("[100]", "[101]"), problem("are not all of it"));
  EXPECT_THAT(restoring_with("[100]", "[-1]"), problem("not a count"));
  EXPECT_THAT(restoring_with("[100]", "[1.5]"), problem("not a count"));
  EXPECT_THAT(restoring_with("[100]", "[1000000000, 1000000000, 1000000000]"), problem("too large"));
  EXPECT_THAT(restoring_with("[100]", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 100]"), problem("too many axes"));
  EXPECT_THAT(restoring_with("[100]", "\"100\""), problem("not a list"));
  EXPECT_THAT(restoring_with("\"first\":0", "\"first\":1"), problem("do not follow"));
  EXPECT_THAT(restoring_with("\"offset\":0", "\"offset\":64"), problem("behind its file's end"));
  EXPECT_THAT(restoring_with("\"offset\":0", "\"offset\":18446744073709551615"), problem("behind its file's end"));
  EXPECT_THAT(restoring_with("\"file\":1", "\"file\":0"), problem("share bytes"));
  EXPECT_THAT(restoring_with("\"file\":1", "\"file\":2"), problem("not listed"));
  EXPECT_THAT(restoring_with("\"bytes\":400,\"crc32c\"", "\"bytes\":399,\"crc32c\""), problem("bytes"));
  EXPECT_THAT(restoring_with("\"count\":100", "\"count\":4611686018427388004"), problem("bytes"));
  EXPECT_THAT(restoring_with("variables/b", "variables/a"), problem("more than once"));
  EXPECT_THAT(restoring_with("\"name\":\"x.data", "\"name\":\"../x.data"), problem("not the name of a data file"));
  EXPECT_THAT(restoring_with("\"number\":0", "\"number\":" + std::string(100000, '[')), problem("JSON"));
}

TEST_F(DamagedCheckpoint, AFullDiskLeavesTheOldOneWhole) {
  const auto before = std::distance(fs::directory_iterator(folder_.path()), {});
  Variable large(Tensor::full({1 << 20}, 3));
  for (const bool async : {false, true}) {
    Checkpoint checkpoint({.variables = {{"a", large}, {"b", b_}}}, {.enable_async = async});
    std::string error;
    {
      const test::FullDisk full(std::size_t{1} << 20);
      error = error_of([&] {
        checkpoint.write(path_);
        checkpoint.sync();
      });
    }
    EXPECT_THAT(error, AllOf(HasSubstr("ResourceExhausted"), HasSubstr("File too large"), HasSubstr("disk")));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), before) << "nothing may be left";
    checkpoint_.read(path_);
    EXPECT_EQ(read_now(a_).to_vector<int>(), std::vector<int>(100, 1));
    EXPECT_EQ(error_of([&] {
                checkpoint.write(folder_.file("y"));
                checkpoint.sync();
              }),
              "");
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      if (entry.path().filename().string().starts_with("y.")) fs::remove(entry.path());
    }
  }
}

TEST_F(DamagedCheckpoint, AReadOnlyFolderIsAnErrorThatSaysSo) {
  fs::permissions(folder_.path(),
                  fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
  std::string error;
  {
    const test::Unprivileged nobody;
    error = error_of([&] { checkpoint_.write(path_); });
  }
  fs::permissions(folder_.path(), fs::perms::owner_all);
  EXPECT_THAT(error, AllOf(HasSubstr(path_), HasSubstr("Permission denied"), HasSubstr("folder is writable")));
  checkpoint_.read(path_);
  EXPECT_EQ(read_now(a_).to_vector<int>(), std::vector<int>(100, 1));
}

// The error of a checkpoint written in the background comes with the next save, and the one after that works.
TEST(BackgroundCheckpoint, ErrorsSurfaceAtTheNextSave) {
  const TemporaryFolder folder;
  Variable large(Tensor::full({1 << 20}, 3));
  Checkpoint checkpoint({.variables = {{"large", large}}}, {.enable_async = true});
  CheckpointManager manager(checkpoint, folder.file("run"));
  manager.save();
  manager.sync();
  {
    const test::FullDisk full(std::size_t{1} << 20);
    EXPECT_EQ(error_of([&] { manager.save(); }), "");
    EXPECT_THAT(error_of([&] { manager.save(); }), HasSubstr("File too large"));
  }
  EXPECT_EQ(manager.latest_checkpoint(), folder.file("run/ckpt-1"));
  manager.save();
  manager.sync();
  EXPECT_THAT(manager.checkpoints(), testing::SizeIs(2));
  EXPECT_TRUE(manager.restore_or_initialize());
}

TEST(BackgroundCheckpoint, ErrorsNobodyAsksForAreLogged) {
  const TemporaryFolder folder;
  Variable large(Tensor::full({1 << 20}, 3));
  testing::internal::CaptureStderr();
  {
    const test::FullDisk full(std::size_t{1} << 20);
    Checkpoint checkpoint({.variables = {{"large", large}}}, {.enable_async = true});
    checkpoint.write(folder.file("x"));
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("File too large"));
}

}  // namespace
}  // namespace cohort
