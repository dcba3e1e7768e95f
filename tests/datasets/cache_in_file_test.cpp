#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cohort/datasets/transforms/cache.h"
#include "cohort/files/atomic_file.h"
#include "cohort/ops/math.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/ragged_source.h"
#include "tests/datasets/skipping.h"
#include "tests/datasets/stage_checks.h"
#include "tests/support/error_of.h"
#include "tests/support/hindered_writes.h"
#include "tests/support/paths.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using cohort::test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

// 0, 1, ... squared, computed.
Dataset squares_of(std::int64_t count) {
  return range(count).map([](Tensor x) { return ops::multiply(x, x); });
}
std::size_t files_in(const TemporaryFolder& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) count += entry.exists() ? 1 : 0;
  return count;
}

class CacheInFile : public testing::Test {
 protected:
  std::string file() const { return folder_.file("cached"); }
  DatasetTransform cached() const { return cache(file()); }
  TemporaryFolder folder_;
};

TEST_F(CacheInFile, ReadsItsInputOnce) {
  const Dataset dataset = damaged_source(5, -1).apply(cached());
  const std::int64_t before = elements_read();
  const auto iterator = dataset.make_iterator();
  EXPECT_THAT(numbers(*iterator), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(elements_read() - before, 5);
  iterator->rewind();
  EXPECT_THAT(numbers(*iterator), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(numbers(parse_dataset(serialize(dataset))), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(elements_read() - before, 5);
  EXPECT_EQ(files_in(folder_), 1u) << "neither a lock nor a part of it is left";
}

TEST_F(CacheInFile, KeepsTheOrderOfTheFirstPass) {
  const auto iterator = range(20).shuffle(20).apply(cached()).make_iterator();
  const auto first = numbers(*iterator);
  iterator->rewind();
  EXPECT_EQ(numbers(*iterator), first);
  EXPECT_EQ(numbers(range(20).shuffle(20).apply(cached())), first) << "of another seed";
}

TEST_F(CacheInFile, KeepsWhatElementsAreKnownBy) {
  const Dataset chosen = range(9).filter([](Tensor x) { return ops::greater(x, 4); });
  const auto expected = outcomes(*chosen.make_iterator());
  ASSERT_EQ(expected.at(0).key, (ElementKey{0, 5}));
  const Dataset dataset = chosen.apply(cached());
  EXPECT_EQ(dataset.cardinality(), kUnknownCardinality);
  EXPECT_TRUE(outcomes(*dataset.make_iterator()) == expected);
  EXPECT_TRUE(outcomes(*dataset.make_iterator()) == expected);
  EXPECT_EQ(dataset.cardinality(), 4);
}

TEST_F(CacheInFile, KeepsShapesAndStrings) {
  const Dataset words = from_tensor_slices(
      Element::dict({{"word", Tensor::of_strings({"", "two", std::string("\0x", 2), "seven77"}, {2, 2})},
                     {"number", Tensor::of<std::int64_t>({7, 8}, {2})}}));
  for (int i = 0; i < 2; ++i) {
    const auto iterator = words.apply(cached()).make_iterator();
    Tensors element;
    ASSERT_TRUE(iterator->next(element));
    EXPECT_THAT(element[0].to_strings(), ElementsAre("", "two"));
    ASSERT_TRUE(iterator->next(element));
    EXPECT_THAT(element[0].to_strings(), ElementsAre(std::string("\0x", 2), "seven77"));
    EXPECT_EQ(element[1].item<std::int64_t>(), 8);
    EXPECT_FALSE(iterator->next(element));
  }
  const auto batched = words.apply(cached()).batch(2).make_iterator();
  Tensors element;
  ASSERT_TRUE(batched->next(element));
  EXPECT_THAT(element[0].to_strings(), ElementsAre("", "two", std::string("\0x", 2), "seven77"));
}

TEST_F(CacheInFile, KeepsElementsOfAnyShape) {
  const Dataset dataset = range(7).batch(3);  // the last is shorter
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all(dataset.apply(cached())), all(dataset)) << i;
}

TEST_F(CacheInFile, BatchesAreThoseOfTheInput) {
  const Dataset source = wide_rows(23, 7).map([](Tensor x, Tensor y) { return std::tuple(ops::multiply(x, 2.0), y); });
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(all(source.apply(cached()).batch(4)), all(source.batch(4))) << i;
    EXPECT_EQ(all(source.apply(cached()).shuffle(5, {.seed = 2}).batch(4)),
              all(source.shuffle(5, {.seed = 2}).batch(4)));
  }
}

TEST_F(CacheInFile, APassThatIsLeftOrRestoredHalfWayIsNotKept) {
  const Dataset dataset = squares_of(6).apply(cached());
  {
    const auto iterator = dataset.make_iterator();
    EXPECT_THAT(numbers(*iterator, 2), ElementsAre(0, 1));
    const auto restored = parse_dataset(serialize(dataset)).make_iterator();
    restored->restore(iterator->save());
    EXPECT_THAT(numbers(*restored), ElementsAre(4, 9, 16, 25));
  }
  EXPECT_EQ(files_in(folder_), 0u);
  const auto iterator = dataset.make_iterator();
  numbers(*iterator, 2);
  iterator->rewind();
  EXPECT_THAT(numbers(*iterator), ElementsAre(0, 1, 4, 9, 16, 25));
  EXPECT_EQ(files_in(folder_), 1u);
}

TEST_F(CacheInFile, PositionsAreTheSameBeforeDuringAndAfterTheWriting) {
  const Dataset dataset = range(6).shuffle(6, {.seed = 3}).apply(cached());
  const auto writing = dataset.make_iterator();
  std::vector<std::string> states{writing->save()};
  const auto expected = numbers(range(6).shuffle(6, {.seed = 3}));
  Tensors element;
  while (writing->next(element)) states.push_back(writing->save());
  ASSERT_TRUE(std::filesystem::exists(file()));
  const auto check = [&] {
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto iterator = parse_dataset(serialize(dataset)).make_iterator();
      iterator->restore(states[i]);
      EXPECT_EQ(iterator->save(), states[i]);
      EXPECT_EQ(numbers(*iterator), std::vector(expected.begin() + static_cast<std::ptrdiff_t>(i), expected.end()));
    }
  };
  check();
  std::filesystem::remove(file());
  check();
}

TEST_F(CacheInFile, PassingByEqualsWalking) {
  expect_skip_equals_walking(damaged_source(7, 3).apply(cached()));
  EXPECT_EQ(files_in(folder_), 0u) << "a pass with errors is not kept";
  expect_skip_equals_walking(squares_of(7).apply(cached()));
  EXPECT_EQ(files_in(folder_), 1u);
  expect_restores_anywhere(squares_of(7).apply(cached()));
}

TEST_F(CacheInFile, ErrorsStayInTheirPlaces) {
  const Dataset dataset = damaged_source(7, 3).apply(cached());
  EXPECT_EQ(numbers_or_errors(*dataset.make_iterator()), numbers_or_errors(*damaged_source(7, 3).make_iterator()));
  EXPECT_THAT(numbers(dataset.ignore_errors()), ElementsAre(1, 2, 4, 5));
  expect_passing_by_equals_walking(dataset.batch(2));
  EXPECT_EQ(files_in(folder_), 0u);
}

TEST_F(CacheInFile, ASecondReaderReadsItsOwnInput) {
  const Dataset dataset = squares_of(4).apply(cached());
  const auto first = dataset.make_iterator(), second = parse_dataset(serialize(dataset)).make_iterator();
  EXPECT_THAT(numbers(*first, 2), ElementsAre(0, 1));
  EXPECT_THAT(numbers(*second), ElementsAre(0, 1, 4, 9));
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_THAT(numbers(*first), ElementsAre(4, 9));
  EXPECT_TRUE(std::filesystem::exists(file()));
  second->rewind();
  EXPECT_THAT(numbers(*second), ElementsAre(0, 1, 4, 9));
}

TEST_F(CacheInFile, RefusesTheFileOfAnotherDataset) {
  all(range(4).apply(cached()));
  const auto error = [&](const Dataset& dataset) { return error_of([&] { all(dataset.apply(cached())); }); };
  EXPECT_THAT(error(range(5)), HasSubstr(file()));
  EXPECT_THAT(error(squares_of(4)), HasSubstr("Delete the file, or give another name."));
  EXPECT_EQ(error(range(4)), "");
}

TEST_F(CacheInFile, NoticesADamagedFile) {
  all(squares_of(4).apply(cached()));
  const std::string whole = read_file(file());
  const auto error = [&](const std::string& bytes) {
    write_file_atomically(file(), bytes);
    return error_of([&] { all(squares_of(4).apply(cached())); });
  };
  for (std::size_t length = 0; length < whole.size(); length += length + 200 < whole.size() ? 97 : 1) {
    EXPECT_THAT(error(whole.substr(0, length)), HasSubstr("DataLoss")) << length;
  }
  // What describes the columns is behind the last of them: 4 numbers of 8 bytes.
  for (std::size_t at = 4096 + 32; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    EXPECT_THAT(error(flipped), HasSubstr("DataLoss")) << at;
  }
  EXPECT_EQ(error(whole), "");
}

TEST_F(CacheInFile, AFullDiskIsAnErrorThatLeavesNothing) {
  const Dataset rows = from_tensor_slices(Tensor::full({3, 1 << 20}, 0.0)).apply(cached());
  const auto error = [&] {
    const cohort::test::FullDisk full(1 << 20);
    return error_of([&] { all(rows); });
  }();
  EXPECT_THAT(error, HasSubstr("the disk not full"));
  EXPECT_EQ(files_in(folder_), 0u);
}

TEST_F(CacheInFile, WithoutANameItIsInMemory) { EXPECT_EQ(range(3).apply(cache("")).kind(), range(3).cache().kind()); }

TEST_F(CacheInFile, ASteadyStateAsksForNoMemory) {
  expect_a_steady_state(wide_rows(24).apply(cached()), 2);
  expect_a_steady_state(wide_rows(24).apply(cached()).batch(4), 2);
}

// A file of its own for each, which lives as long as the process.
std::string lasting_file(const std::string& name) {
  static const TemporaryFolder folder;
  return folder.file(name);
}
const PositionsCase kCacheInFileCases[] = {
    {"elements", [] { return range(7).shuffle(7, {.seed = 5}).apply(cache(lasting_file("a"))); }},
    {"batches", [] { return rows(9).batch(2).apply(cache(lasting_file("b"))); }},
    {"batched", [] { return rows(9).apply(cache(lasting_file("c"))).shuffle(4, {.seed = 1}).batch(2); }},
    {"repeated", [] { return range(5).apply(cache(lasting_file("d"))).repeat(3); }},
};
INSTANTIATE_TEST_SUITE_P(CacheInFile, Positions, testing::ValuesIn(kCacheInFileCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
