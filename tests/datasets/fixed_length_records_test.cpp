#include "cohort/datasets/sources/fixed_length_records.h"

#include <filesystem>

#include "tests/datasets/record_files.h"

namespace cohort::datasets::test {
namespace {

using Records = std::vector<std::string>;

std::string record_file(const std::string& name, const std::string& bytes) {
  return write_file(shared_folder().file(name), bytes);
}
Records three_files() {
  return {record_file("r1", "HHaabbccF"), record_file("r2", "HHF"), record_file("r3", "HHddeeF")};
}
Records three_packed_files() {
  return {record_file("r1.gz", packed("HHaabbccF", true)), record_file("r2.gz", packed("HHF", true)),
          record_file("r3.gz", packed("HHddeeF", true))};
}
const FixedLengthRecordsOptions kAround{.header_bytes = 2, .footer_bytes = 1};

TEST(FixedLengthRecords, AreBetweenHeaderAndFooter) {
  const Dataset data = fixed_length_records(three_files(), 2, kAround);
  EXPECT_EQ(lines_of(data), (Records{"aa", "bb", "cc", "dd", "ee"}));
  EXPECT_EQ(data.cardinality(), 5);
  EXPECT_TRUE(data.stage().is_indexed());
  EXPECT_EQ(texts(data.batch(2)), (Records{"string(2,):aa|bb|", "string(2,):cc|dd|", "string(1,):ee|"}));
  EXPECT_EQ(lines_of(data.shuffle(5, {.seed = 1}).skip(2)).size(), 3u);
}

TEST(FixedLengthRecords, OfPackedFilesAreTheSame) {
  FixedLengthRecordsOptions options = kAround;
  options.compression = "gzip";
  const Dataset data = fixed_length_records(three_packed_files(), 2, options);
  EXPECT_EQ(lines_of(data), (Records{"aa", "bb", "cc", "dd", "ee"}));
  EXPECT_EQ(data.cardinality(), kUnknownCardinality);
  expect_exact_positions(data);
  options.as_bytes = true;
  EXPECT_EQ(all(fixed_length_records(three_packed_files(), 2, options).batch(4))[1],
            (std::vector<std::int64_t>{'e', 'e'}));
}

TEST(FixedLengthRecords, AreReadIntoTheRowsOfABatch) {
  FixedLengthRecordsOptions options = kAround;
  options.as_bytes = true;
  const Dataset data = fixed_length_records(three_files(), 2, options);
  EXPECT_EQ(to_string(data.element_spec()), "uint8(2,)");
  EXPECT_EQ(all(data.batch(4)),
            (std::vector<std::vector<std::int64_t>>{{'a', 'a', 'b', 'b', 'c', 'c', 'd', 'd'}, {'e', 'e'}}));
  EXPECT_EQ(all(data.shard(2, 1).batch(2)), (std::vector<std::vector<std::int64_t>>{{'b', 'b', 'd', 'd'}}));
}

TEST(FixedLengthRecords, HaveExactPositions) {
  expect_exact_positions(fixed_length_records(three_files(), 2, kAround));
}

TEST(FixedLengthRecords, TakeNoMemoryInASteadyState) {
  if (!cohort::test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  const std::string file = record_file("steady", std::string(64 * 100, 'x'));
  EXPECT_EQ(allocations_of_passes(fixed_length_records(file, 64)), 0u);
  EXPECT_EQ(allocations_of_passes(fixed_length_records(file, 64, {.as_bytes = true}).shuffle(100).batch(8)), 0u);
}

TEST(FixedLengthRecords, RefuseFilesOfOtherSizes) {
  const std::string file = record_file("odd", "HHaabF");
  const std::string message = cohort::test::error_of([&] { fixed_length_records(file, 2, kAround); });
  EXPECT_NE(message.find("record_bytes=2"), std::string::npos) << message;
  EXPECT_NE(message.find("odd"), std::string::npos) << message;
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31}) {
    EXPECT_NE(cohort::test::error_of([&] { fixed_length_records(file, bytes); }).find("record_bytes="),
              std::string::npos);
  }
  EXPECT_NE(
      cohort::test::error_of([&] { fixed_length_records(file, 1, {.header_bytes = -1}); }).find("header_bytes=-1"),
      std::string::npos);
  Tensors element;
  const Dataset cut = fixed_length_records(record_file("odd.gz", packed("HHaabF", true)), 2,
                                           {.header_bytes = 2, .footer_bytes = 1, .compression = "gzip"});
  auto iterator = cut.make_iterator();
  ASSERT_TRUE(iterator->next(element));
  EXPECT_THROW(iterator->next(element), BrokenSource);
}

TEST(FixedLengthRecords, CannotGoOnInFilesThatChanged) {
  const std::string file = record_file("changing", "aabb");
  const Dataset data = fixed_length_records(file, 2);
  Tensors element;
  record_file("changing", "aabbcc");
  EXPECT_THROW(data.make_iterator()->next(element), BrokenSource);
  std::filesystem::remove(file);
  EXPECT_THROW(data.batch(2).make_iterator()->next(element), BrokenSource);
}

const PositionsCase kRecordCases[] = {
    {"records",
     [] { return fixed_length_records(three_files(), 2, {.header_bytes = 2, .footer_bytes = 1, .as_bytes = true}); }},
    {"shuffled_records",
     [] { return fixed_length_records(three_files(), 1, {.as_bytes = true}).shuffle(20, {.seed = 1}).batch(3); }},
    {"packed_records",
     [] { return fixed_length_records(three_packed_files(), 1, {.compression = "gzip", .as_bytes = true}).batch(3); }},
};
INSTANTIATE_TEST_SUITE_P(FixedLengthRecords, Positions, testing::ValuesIn(kRecordCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
