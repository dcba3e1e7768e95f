#include "cohort/files/data_root.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>

#include "cohort/core/error.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kHint = "Ask for more.";

// What a file holds when it is opened as data.
std::string content(const std::string& path) {
  const int file = open_data_file("test", path, data_roots_in_force().get());
  char bytes[16] = {};
  const auto got = ::read(file, bytes, sizeof bytes);
  ::close(file);
  return {bytes, static_cast<std::size_t>(got)};
}

std::shared_ptr<const DataRoots> roots_of(const std::vector<std::string>& folders) {
  return make_data_roots(folders, kHint);
}

void write_to(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

// A folder with data in it, and secrets beside it.
class DataRoot : public testing::Test {
 protected:
  DataRoot() : root_(folder_.path() / "root") {
    std::filesystem::create_directories(root_ / "a/b");
    write_to(root_ / "a/b/data", "inside");
    write_to(folder_.path() / "secret", "outside");
    std::filesystem::create_directory(folder_.path() / "root2");
    write_to(folder_.path() / "root2/secret", "outside");
    std::filesystem::create_symlink("b/data", root_ / "a/near");
    std::filesystem::create_symlink("../../secret", root_ / "a/out");
    std::filesystem::create_symlink(folder_.path() / "secret", root_ / "absolute");
    std::filesystem::create_directory_symlink("..", root_ / "up");
  }
  std::string secret() const { return (folder_.path() / "secret").string(); }
  std::string in_root(const std::string& name) const { return (root_ / name).string(); }

  const test::TemporaryFolder folder_;
  const std::filesystem::path root_;
};

TEST_F(DataRoot, WithoutOneEveryRegularFileIsOpened) {
  EXPECT_EQ(content(in_root("a/b/data")), "inside");
  EXPECT_EQ(content(in_root("a/out")), "outside");
  EXPECT_THAT(error_of([&] { content(in_root("none")); }), AllOf(HasSubstr("NotFound"), HasSubstr("none")));
}

TEST_F(DataRoot, OpensWhatIsBeneathIt) {
  const DataRootScope scope(roots_of({root_.string()}));
  EXPECT_EQ(content(in_root("a/b/data")), "inside");
  EXPECT_EQ(content("a/b/data"), "inside");
  EXPECT_EQ(content("a/../a/b/data"), "inside");
  EXPECT_EQ(content("a/near"), "inside");
  EXPECT_THAT(error_of([&] { content("a/none"); }), HasSubstr("NotFound"));
}

TEST_F(DataRoot, RefusesWhatLeadsOutOfIt) {
  const DataRootScope scope(roots_of({root_.string()}));
  for (const std::string& path :
       {secret(), std::string("../secret"), in_root("../secret"), std::string("a/../../secret"), std::string("a/out"),
        in_root("absolute"), std::string("up/secret"), std::string("up/root2/secret"),
        (folder_.path() / "root2/secret").string(), std::string("/proc/self/root") + secret(), std::string()}) {
    EXPECT_THAT(error_of([&] { content(path); }),
                AllOf(HasSubstr("PermissionDenied"), HasSubstr(root_.string()), HasSubstr(kHint)))
        << path;
  }
}

TEST_F(DataRoot, OfNoFolderRefusesEverything) {
  {
    const DataRootScope scope(roots_of({}));
    EXPECT_THAT(error_of([&] { content(in_root("a/b/data")); }),
                AllOf(HasSubstr("PermissionDenied"), HasSubstr("data_root=none"), HasSubstr(kHint)));
    {
      const DataRootScope inner(roots_of({root_.string()}));
      EXPECT_EQ(content("a/b/data"), "inside");
    }
    EXPECT_THAT(error_of([&] { content("a/b/data"); }), HasSubstr("PermissionDenied"));
  }
  EXPECT_EQ(content(secret()), "outside");
}

TEST_F(DataRoot, OfEverythingIsNoLimit) {
  EXPECT_EQ(roots_of({"/"}), nullptr);
  EXPECT_EQ(roots_of({root_.string(), "//"}), nullptr);
  EXPECT_NE(roots_of({root_.string()}), nullptr);
}

// A server and the program it is part of share a process.
TEST_F(DataRoot, HoldsForItsThreadAlone) {
  const DataRootScope scope(roots_of({}));
  std::string read;
  std::thread([&] { read = content(secret()); }).join();
  EXPECT_EQ(read, "outside");
}

TEST_F(DataRoot, IsLeftByAddresses) {
  check_may_fetch("test", "http://127.0.0.1/x", nullptr);
  EXPECT_THAT(error_of([&] { check_may_fetch("test", "http://127.0.0.1/x", roots_of({root_.string()}).get()); }),
              AllOf(HasSubstr("PermissionDenied"), HasSubstr(kHint)));
}

TEST_F(DataRoot, MayBeAnAddress) {
  const auto roots = roots_of({root_.string(), "https://host/data", "s3://bucket/"});
  for (const char* address : {"https://host/data/a", "https://host/data/a/b.c", "s3://bucket/key"}) {
    EXPECT_NO_THROW(check_may_fetch("test", address, roots.get())) << address;
  }
  for (const char* address :
       {"https://host/data", "https://host/data/", "https://host/database", "http://host/data/a", "https://host/other",
        "https://host.org/data/a", "https://host/data/../other", "https://host/data/./a",
        "https://host/data/%2e%2e/other", "https://host/data/..", "https://host/data/a?b", "https://host/data/a#b",
        "https://host/data//a", "https://host/data/\\..\\a", "https://host/data/a@b", "https://host/data/a b",
        "s3://bucket2/key", "s3://bucket/../x"}) {
    EXPECT_THAT(error_of([&] { check_may_fetch("test", address, roots.get()); }),
                AllOf(HasSubstr("PermissionDenied"), HasSubstr("https://host/data/"), HasSubstr(kHint)))
        << address;
  }
  const DataRootScope scope(roots_of({"https://host/data"}));
  EXPECT_THAT(error_of([&] { content("a/b/data"); }), HasSubstr("PermissionDenied"));
}

TEST_F(DataRoot, IsNoAddressThatMayMeanAnotherPlace) {
  for (const char* address :
       {"https://user@host/", "https://host/a/../b", "https://host/%41", "https://host/?a", "https://"}) {
    EXPECT_THROW(roots_of({address}), Error) << address;
  }
}

TEST_F(DataRoot, LetsNothingBeWritten) {
  check_may_write("test", in_root("new"));
  const DataRootScope scope(roots_of({root_.string()}));
  EXPECT_THAT(error_of([&] { check_may_write("test", in_root("new")); }),
              AllOf(HasSubstr("PermissionDenied"), HasSubstr(in_root("new"))));
}

TEST_F(DataRoot, OfSeveralFoldersTakesRelativeNamesInTheFirst) {
  const DataRootScope scope(roots_of({root_.string(), (folder_.path() / "root2").string()}));
  EXPECT_EQ(content("a/b/data"), "inside");
  EXPECT_EQ(content((folder_.path() / "root2/secret").string()), "outside");
  EXPECT_THAT(error_of([&] { content("secret"); }), HasSubstr("NotFound"));
}

TEST_F(DataRoot, MayBeNamedByALink) {
  std::filesystem::create_directory_symlink(root_, folder_.path() / "link");
  const DataRootScope scope(roots_of({(folder_.path() / "link/").string()}));
  EXPECT_EQ(content((folder_.path() / "link/a/b/data").string()), "inside");
  EXPECT_EQ(content(in_root("a/b/data")), "inside");
  EXPECT_THROW(roots_of({in_root("nothing")}), Error);
  EXPECT_THROW(roots_of({in_root("a/b/data")}), Error);
}

TEST_F(DataRoot, OpensRegularFilesOnly) {
  ASSERT_EQ(::mkfifo(in_root("pipe").c_str(), 0600), 0);
  for (const bool rooted : {false, true}) {
    std::optional<DataRootScope> scope;
    if (rooted) scope.emplace(roots_of({root_.string()}));
    EXPECT_THAT(error_of([&] { content(in_root("pipe")); }), HasSubstr("a regular file is expected"));
    EXPECT_THAT(error_of([&] { content(in_root("a")); }), HasSubstr("a regular file is expected"));
  }
}

TEST_F(DataRoot, IsHeldNameByNameWhereTheKernelCannot) {
  const int folder = ::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(folder, 0);
  const auto opens = [&](const std::string& path) {
    const int file = open_beneath_by_names(folder, path);
    const int error = errno;
    if (file >= 0) ::close(file);
    return file >= 0 ? 0 : error;
  };
  EXPECT_EQ(opens("a/b/data"), 0);
  EXPECT_EQ(opens("./a//b/data"), 0);
  EXPECT_EQ(opens("a/b/none"), ENOENT);
  for (const char* path : {"../secret", "a/../a/b/data", "a/near", "a/out", "absolute", "/etc/passwd"}) {
    EXPECT_EQ(opens(path), EXDEV) << path;
  }
  EXPECT_NE(opens("up/secret"), 0);
  EXPECT_NE(opens(""), 0);
  ::close(folder);
}

}  // namespace
}  // namespace cohort
