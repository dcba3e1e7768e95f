#include "cohort/datasets/sources/lmdb.h"

#if __has_include(<lmdb.h>)
#include <gmock/gmock.h>
#include <lmdb.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cohort/files/data_root.h"
#include "tests/datasets/record_files.h"
#include "tests/datasets/stage_checks.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using cohort::test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

using LmdbPairs = std::vector<std::pair<std::string, std::string>>;

// Puts entries into an environment, which is made where there is none.
//   flags: of the environment, MDB_NOSUBDIR; database_flags: of its main database, MDB_DUPSORT.
std::string put_lmdb(const std::string& path, const LmdbPairs& pairs, unsigned flags = 0, unsigned database_flags = 0) {
  if (flags == 0) std::filesystem::create_directories(path);
  MDB_env* environment = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_dbi database = 0;
  int failures = mdb_env_create(&environment);
  failures |= mdb_env_set_mapsize(environment, std::size_t{64} << 20);
  failures |= mdb_env_open(environment, path.c_str(), flags, 0644);
  failures |= mdb_txn_begin(environment, nullptr, 0, &transaction);
  failures |= mdb_dbi_open(transaction, nullptr, database_flags, &database);
  for (const auto& [key, value] : pairs) {
    MDB_val key_bytes{key.size(), const_cast<char*>(key.data())};
    MDB_val value_bytes{value.size(), const_cast<char*>(value.data())};
    failures |= mdb_put(transaction, database, &key_bytes, &value_bytes, 0);
  }
  failures |= mdb_txn_commit(transaction);
  mdb_env_close(environment);
  EXPECT_EQ(failures, 0);
  return path;
}

// Values of all sizes, from none to several pages.
LmdbPairs numbered_pairs(int count) {
  LmdbPairs pairs;
  for (int i = 0; i < count; ++i) {
    const auto number = static_cast<std::size_t>(i);
    pairs.emplace_back("key" + std::to_string(100 + i),
                       std::string(number * number * 7, static_cast<char>('a' + i % 26)));
  }
  return pairs;
}
LmdbPairs pairs_of(const Dataset& dataset) {
  LmdbPairs pairs;
  const auto iterator = dataset.make_iterator();
  for (Tensors element; iterator->next(element);) {
    pairs.emplace_back(element.at(0).to_strings().at(0), element.at(1).to_strings().at(0));
  }
  return pairs;
}

TEST(Lmdb, EntriesComeInTheOrderOfTheirKeys) {
  const TemporaryFolder folder;
  LmdbPairs pairs = numbered_pairs(60);
  const LmdbPairs expected = pairs;
  std::reverse(pairs.begin(), pairs.end());
  const Dataset data = lmdb(put_lmdb(folder.file("environment"), pairs));
  EXPECT_EQ(data.cardinality(), 60);
  EXPECT_EQ(pairs_of(data), expected);
  EXPECT_EQ(pairs_of(lmdb(folder.file("environment/data.mdb"))), expected);
  EXPECT_EQ(pairs_of(lmdb(put_lmdb(folder.file("file.mdb"), pairs, MDB_NOSUBDIR))), expected);
  EXPECT_EQ(pairs_of(parse_dataset(serialize(data))), expected);
}

TEST(Lmdb, EntriesAreReachedByNumber) {
  const TemporaryFolder folder;
  const LmdbPairs pairs = numbered_pairs(40);
  const Dataset data = lmdb(put_lmdb(folder.file("environment"), pairs));
  ASSERT_NE(data.make_iterator()->indexed(), nullptr);
  const LmdbPairs part = pairs_of(data.skip(30).shard(2, 1));
  EXPECT_THAT(part, ElementsAre(pairs[31], pairs[33], pairs[35], pairs[37], pairs[39]));
  LmdbPairs shuffled = pairs_of(data.shuffle(40, {.seed = 3}));
  EXPECT_NE(shuffled, pairs);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, pairs);
  EXPECT_EQ(texts(data.batch(7)), texts(data.prefetch(1).batch(7)));
}

TEST(Lmdb, SmallAndUnusualEnvironments) {
  const TemporaryFolder folder;
  const Dataset none = lmdb(put_lmdb(folder.file("none"), {}));
  EXPECT_EQ(none.cardinality(), 0);
  EXPECT_TRUE(pairs_of(none).empty());
  const LmdbPairs several{{"a", "1"}, {"a", "2"}, {"a", "3"}, {"b", "1"}};
  EXPECT_EQ(pairs_of(lmdb(put_lmdb(folder.file("several"), several, 0, MDB_DUPSORT))), several);
  const LmdbPairs bytes{{std::string("\0\1", 2), std::string("\0", 1)}, {std::string(511, '\xff'), ""}};
  EXPECT_EQ(pairs_of(lmdb(put_lmdb(folder.file("bytes"), bytes))), bytes);
}

TEST(Lmdb, AnotherTransactionIsRefused) {
  const TemporaryFolder folder;
  const std::string path = put_lmdb(folder.file("environment"), numbered_pairs(3));
  for (int i = 0; i < 5; ++i) put_lmdb(path, {{"key100", "y"}});  // now pages are used again, and the size stays
  const Dataset before = lmdb(path);
  put_lmdb(path, {{"key100", "x"}});
  Tensors element;
  const auto iterator = before.make_iterator();
  EXPECT_THAT(error_of([&] { iterator->next(element); }), HasSubstr("transaction"));
  EXPECT_THROW(iterator->next(element), BrokenSource);
  EXPECT_EQ(pairs_of(lmdb(path)).at(0).second, "x");
}

constexpr const char* kWrittenEnvironment = "COHORT_TEST_LMDB";

// What the next test runs in a process of its own.
TEST(Lmdb, DISABLED_Writes) {
  LmdbPairs pairs = numbered_pairs(30);
  for (auto& pair : pairs) pair.second.assign(pair.second.size(), '#');
  for (int round = 0; round < 20; ++round) put_lmdb(std::getenv(kWrittenEnvironment), pairs);
}

// What is read stays as it was while somebody else writes: the lock of a reader is seen.
TEST(Lmdb, WhoWritesLeavesAloneWhatIsRead) {
  const TemporaryFolder folder;
  const LmdbPairs pairs = numbered_pairs(30);
  const Dataset data = lmdb(put_lmdb(folder.file("environment"), pairs));
  const auto iterator = data.make_iterator();
  Tensors element;
  ASSERT_TRUE(iterator->next(element));
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  ::setenv(kWrittenEnvironment, folder.file("environment").c_str(), 1);
  const std::string options =
      " --gtest_also_run_disabled_tests --gtest_filter=Lmdb.DISABLED_Writes >" + folder.file("log");
  ASSERT_EQ(std::system((program + options).c_str()), 0);
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    ASSERT_TRUE(iterator->next(element));
    EXPECT_EQ(element[1].to_strings().at(0), pairs[i].second) << i;
  }
  const Dataset after = lmdb(folder.file("environment"));
  EXPECT_EQ(pairs_of(after).at(2).second, std::string(28, '#'));
}

TEST(Lmdb, FilesThatAreNoneOrCutAreRefused) {
  const TemporaryFolder folder;
  const std::string path = put_lmdb(folder.file("file.mdb"), numbered_pairs(40), MDB_NOSUBDIR);
  std::string bytes;
  {
    std::ifstream in(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto error = [&](const std::string& other) {
    const std::string file = write_file(folder.file("other.mdb"), other);
    return error_of([&] { pairs_of(lmdb(file)); });
  };
  ASSERT_EQ(error(bytes), "");
  EXPECT_THAT(error(""), HasSubstr("too short"));
  EXPECT_THAT(error(std::string(100'000, 'x')), HasSubstr("something else"));
  for (std::size_t length = 0; length < bytes.size(); length += 1000) {
    EXPECT_THAT(error(bytes.substr(0, length)), HasSubstr("DataLoss")) << length;
  }
  // Of both pages that tell of the whole: magic number, version, size of a page, root, number of entries, last page.
  const auto page_bytes = *reinterpret_cast<const std::uint32_t*>(bytes.data() + 40);
  for (const std::size_t page : {std::size_t{0}, std::size_t{page_bytes}}) {
    for (const std::size_t at : {16, 20, 40, 41, 135, 127, 142}) {
      std::string other = bytes;
      other[page + at] ^= 0x55;
      EXPECT_THAT(error(other), HasSubstr("DataLoss")) << page << " " << at;
    }
  }
  EXPECT_THAT(error_of([&] { lmdb(folder.file("nowhere")); }), HasSubstr("NotFound"));
  EXPECT_THAT(error_of([&] { lmdb("http://127.0.0.1/data.mdb"); }), HasSubstr("a path is expected"));
}

// A chain that somebody else has sent reads beneath its roots, and leaves nothing there.
TEST(Lmdb, SentChainsReadBeneathTheirRoots) {
  const TemporaryFolder folder;
  const LmdbPairs pairs = numbered_pairs(20);
  const std::string path = put_lmdb(folder.file("root/environment"), pairs);
  put_lmdb(folder.file("outside"), pairs);
  std::filesystem::remove(folder.file("root/environment/lock.mdb"));
  const std::string inside = serialize(lmdb(path)), outside = serialize(lmdb(folder.file("outside")));
  const auto roots = make_data_roots({folder.file("root")}, "no");
  const auto sent = [&](const std::string& chain) {
    const DataRootScope scope(roots);
    return parse_dataset(chain);
  };
  EXPECT_EQ(pairs_of(sent(inside)), pairs);
  EXPECT_FALSE(std::filesystem::exists(folder.file("root/environment/lock.mdb")));
  EXPECT_THAT(error_of([&] { pairs_of(sent(outside)); }), HasSubstr("PermissionDenied"));
}

TEST(Lmdb, WhoMayNotWriteReadsWithoutALock) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TemporaryFolder folder;
  const LmdbPairs pairs = numbered_pairs(5);
  const std::string path = put_lmdb(folder.file("environment"), pairs);
  std::filesystem::remove(folder.file("environment/lock.mdb"));
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_EQ(pairs_of(lmdb(path)), pairs);
  EXPECT_FALSE(std::filesystem::exists(folder.file("environment/lock.mdb")));
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

TEST(Lmdb, ManyReadersShareAnEnvironment) {
  const TemporaryFolder folder;
  const LmdbPairs pairs = numbered_pairs(30);
  const std::string path = put_lmdb(folder.file("environment"), pairs);
  const Dataset data = lmdb(path);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) right += pairs_of(i % 2 == 0 ? data : lmdb(path)) == pairs ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 160);
}

std::string positions_environment() {
  static const std::string path = put_lmdb(shared_folder().file("positions"), numbered_pairs(17));
  return path;
}
const PositionsCase kLmdbCases[] = {
    {"lmdb", [] { return lmdb(positions_environment()).enumerate(); }},
    {"shuffled_lmdb",
     [] { return lmdb(positions_environment()).enumerate().shuffle(17, {.seed = 1}).shard(2, 1).batch(3); }},
};
INSTANTIATE_TEST_SUITE_P(Lmdb, Positions, testing::ValuesIn(kLmdbCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test

#else
#include <gmock/gmock.h>

#include "tests/support/error_of.h"

// The library was built without liblmdb.
TEST(Lmdb, NeedsLiblmdb) {
  EXPECT_THAT(cohort::test::error_of([] { cohort::datasets::lmdb("environment"); }), testing::HasSubstr("liblmdb"));
}

#endif
