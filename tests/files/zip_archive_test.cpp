#include "cohort/files/zip_archive.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/files/atomic_file.h"
#include "tests/support/paths.h"
#include "tests/support/zip_bytes.h"

namespace cohort {
namespace {

TEST(ZipArchive, ReadsItsMembersInTheirOrder) {
  const test::ZipMembers members = {
      {"config.json", "{}"}, {"empty", ""}, {"assets/grün.txt", std::string(100000, 'x')}};
  for (const bool deflated : {false, true}) {
    EXPECT_EQ(ZipArchive::parse(test::zip_bytes(members, deflated), "a.keras").members(), members) << deflated;
  }
  const ZipArchive read = ZipArchive::parse(test::zip_bytes(members), "a.keras");
  EXPECT_TRUE(read.has("empty"));
  EXPECT_FALSE(read.has("nothing"));
  EXPECT_THROW(read.at("nothing"), Error);
}

TEST(ZipArchive, RefusesDamagedBytes) {
  const test::ZipMembers members = {{"config.json", "{\"class_name\": \"Sequential\"}"},
                                    {"model.weights.h5", std::string(500, 'w')}};
  const std::string bytes = test::zip_bytes(members);
  EXPECT_THROW(ZipArchive::parse("", "x"), Error);
  EXPECT_THROW(ZipArchive::parse("PK no archive", "x"), Error);
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_THROW(ZipArchive::parse(bytes.substr(0, size), "x"), Error) << size;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    try {  // a change of a name or a date may go unseen, one of the content may not
      const ZipArchive read = ZipArchive::parse(changed, "x");
      for (const auto& [name, content] : read.members()) {
        EXPECT_TRUE(content == members[0].second || content == members[1].second) << i;
      }
    } catch (const Error&) {
    }
  }
}

TEST(AtomicFile, ReplacesAFileAndLeavesNothingElseBehind) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("deep/er/file.bin");
  write_file_atomically(path, "old");
  write_file_atomically(path, std::string("new\0bytes", 9));
  EXPECT_EQ(read_file(path), std::string("new\0bytes", 9));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "deep/er"))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 1);
}

TEST(AtomicFile, KeepsTheOldFileWhenItCannotWrite) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "target");
  EXPECT_THROW(write_file_atomically(folder.file("target"), "bytes"), Error);
  EXPECT_TRUE(std::filesystem::is_directory(folder.path() / "target"));
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) entries += entry.exists();
  EXPECT_EQ(entries, 1);
  EXPECT_THROW(read_file(folder.file("nothing")), Error);
  EXPECT_THROW(read_file(folder.path()), Error);
}

}  // namespace
}  // namespace cohort
