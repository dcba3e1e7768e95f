#include "cohort/datasets/sources/records_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "cohort/data/auto_shard.h"
#include "cohort/datasets/sources/tf_record_writer.h"
#include "cohort/datasets/sources/tf_records.h"
#include "cohort/datasets/transforms/parse_example.h"
#include "cohort/files/atomic_file.h"
#include "tests/datasets/record_files.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using cohort::test::TemporaryFolder;
using testing::HasSubstr;

std::string indexed_text(int i) {
  return "number " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 4), '!');
}
std::size_t framed_bytes(int i) { return 16 + indexed_text(i).size(); }

// Files "a" of seven records, "empty" of none and "b" of five, and beside each its index.
class RecordsByNumber : public testing::Test {
 protected:
  RecordsByNumber() {
    write("a", 0, 7);
    write("empty", 7, 7);
    write("b", 7, 12);
  }
  void write(const std::string& name, int first, int end) {
    files_.push_back(folder_.file(name));
    index_.push_back(folder_.file(name + ".idx"));
    TFRecordWriter writer(files_.back());
    std::string lines;
    std::size_t offset = 0;
    for (int i = first; i < end; ++i) {
      writer.write(indexed_text(i));
      lines += std::to_string(offset) + " " + std::to_string(framed_bytes(i)) + "\n";
      offset += framed_bytes(i);
    }
    writer.close();
    write_file(index_.back(), lines);
  }
  std::vector<Dataset> both() const {
    return {tf_records(files_, {.indexed = true}), tf_records(files_, {.index_files = index_})};
  }
  // Of the first file alone, with this text as its index.
  Dataset with_index(const std::string& text) const {
    write_file(index_[0], text);
    return tf_records({files_[0]}, {.index_files = {index_[0]}});
  }

  TemporaryFolder folder_;
  std::vector<std::string> files_, index_;
};

TEST_F(RecordsByNumber, AreThoseThatWalkingGives) {
  const Dataset walked = tf_records(files_);
  const std::vector<std::string> expected = lines_of(walked);
  ASSERT_EQ(expected.size(), 12u);
  for (const Dataset& data : both()) {
    EXPECT_TRUE(data.stage().is_indexed());
    EXPECT_EQ(data.cardinality(), 12);
    EXPECT_EQ(lines_of(data), expected);
    const auto one = walked.make_iterator(), other = data.make_iterator();
    Tensors element;
    while (one->next(element) && other->next(element)) EXPECT_EQ(one->key(), other->key());
  }
  EXPECT_FALSE(walked.stage().is_indexed());
  EXPECT_EQ(tf_records({}, {.indexed = true}).cardinality(), 0);
}

TEST_F(RecordsByNumber, HaveExactPositions) {
  for (const Dataset& data : both()) expect_exact_positions(data);
}

TEST_F(RecordsByNumber, AreShuffledByNumber) {
  for (const Dataset& data : both()) {
    const Dataset shuffled = data.shuffle(12, {.seed = 4});
    EXPECT_TRUE(shuffled.stage().is_indexed());
    std::vector<std::string> seen = lines_of(shuffled);
    EXPECT_NE(seen, lines_of(data));
    std::sort(seen.begin(), seen.end());
    std::vector<std::string> expected = lines_of(data);
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(seen, expected);
    auto iterator = shuffled.make_iterator();
    iterator->skip(9);
    EXPECT_LT(iterator->save().size(), 100u);
  }
}

TEST_F(RecordsByNumber, WorkersReadTheirFilesAlone) {
  for (const Dataset& data : both()) {
    const std::vector<std::string> expected = lines_of(tf_records({files_[2]}));
    const Dataset part = shard_for(data, AutoShardPolicy::File, 3, 2);
    EXPECT_EQ(part.cardinality(), 5);
    EXPECT_EQ(lines_of(part), expected);
    const auto iterator = part.make_iterator();
    Tensors element;
    ASSERT_TRUE(iterator->next(element));
    EXPECT_EQ(iterator->key(), (ElementKey{0, std::uint64_t{2} << 40}));
  }
}

// What is lost is lost, in its place, as for those who walk.
TEST_F(RecordsByNumber, DamageCostsWhatItCostsOthers) {
  const std::string whole = read_file(files_[0]);
  const std::size_t third = framed_bytes(0) + framed_bytes(1);
  const std::function<void(std::string&)> damages[] = {
      [&](std::string& bytes) { bytes[third + 13] ^= 1; }, [&](std::string& bytes) { bytes[third + 1] ^= 1; },
      [&](std::string& bytes) { bytes.resize(third + 5); }, [&](std::string& bytes) { bytes.resize(third + 14); }};
  for (const auto& damage : damages) {
    std::string bytes = whole;
    damage(bytes);
    write_file_atomically(files_[0], bytes);
    const Dataset walked = tf_records(files_), data = tf_records(files_, {.indexed = true});
    const std::vector<std::string> expected = texts(walked);
    EXPECT_EQ(expected[2], "error");
    EXPECT_EQ(texts(data), expected);
    EXPECT_EQ(data.cardinality(), static_cast<std::int64_t>(expected.size()));
    const auto one = walked.make_iterator(), other = data.make_iterator();
    one->skip(2);
    other->skip(2);
    Tensors element;
    EXPECT_EQ(error_of([&] { one->next(element); }), error_of([&] { other->next(element); }));
  }
}

TEST_F(RecordsByNumber, AnIndexThatCannotBeIsRefusedByLine) {
  const std::string first = "0 " + std::to_string(framed_bytes(0)) + "\n";
  for (const std::string line : {"x 24", "24", "24 25 26", "-1 24", "24 -1", "24 15", "20 25", "24 100000", "100000 24",
                                 "", "18446744073709551615 24", "24 18446744073709551615", "99999999999999999999 24"}) {
    const std::string error = error_of([&] { with_index(first + line + "\n"); });
    EXPECT_THAT(error, HasSubstr("DataLoss datasets.tf_records")) << line;
    EXPECT_THAT(error, HasSubstr("index=" + index_[0])) << line;
    EXPECT_THAT(error, HasSubstr("line=2")) << line;
    EXPECT_THAT(error, HasSubstr("file=" + files_[0])) << line;
  }
}

TEST_F(RecordsByNumber, AnIndexThatLiesCostsTheRecordsItLiesAbout) {
  const std::size_t second = framed_bytes(0);
  const std::string lines = "0 " + std::to_string(framed_bytes(0)) + "\n" + std::to_string(second + 1) + " " +
                            std::to_string(framed_bytes(1)) + "\n" + std::to_string(second + 1 + framed_bytes(1)) +
                            " 20";
  const Dataset data = with_index(lines);
  EXPECT_EQ(data.cardinality(), 3);
  const auto iterator = data.make_iterator();
  Tensors element;
  ASSERT_TRUE(iterator->next(element));
  EXPECT_EQ(element[0].to_strings()[0], indexed_text(0));
  const std::string error = error_of([&] { iterator->next(element); });
  EXPECT_THAT(error, HasSubstr("index=" + index_[0]));
  EXPECT_THAT(error, HasSubstr("line=2"));
  EXPECT_THAT(error, HasSubstr("offset=" + std::to_string(second + 1)));
  EXPECT_THAT(error_of([&] { iterator->next(element); }), HasSubstr("line=3"));
  EXPECT_FALSE(iterator->next(element));
}

// Not even the smallest record is believed.
TEST_F(RecordsByNumber, AnIndexOfEmptyRecordsMayLieToo) {
  const auto iterator = with_index("0 16\n17 16\n").make_iterator();
  Tensors element;
  for (const char* line : {"line=1", "line=2"}) {
    const std::string error = error_of([&] { iterator->next(element); });
    EXPECT_THAT(error, HasSubstr("a record where the index says is expected"));
    EXPECT_THAT(error, HasSubstr(line));
  }
}

TEST_F(RecordsByNumber, AnIndexIsNoReasonToTakeMoreThanOneGiB) {
  std::filesystem::resize_file(files_[0], std::uintmax_t{3} << 30);
  EXPECT_THAT(error_of([&] { with_index("0 " + std::to_string((1 << 30) + 17)); }), HasSubstr("line=1"));
  EXPECT_EQ(with_index("0 " + std::to_string((1 << 30) + 16)).cardinality(), 1);
}

// Of a right offset with a wrong length, too.
TEST_F(RecordsByNumber, LengthsOfTheIndexAreCompared) {
  const auto iterator = with_index("0\t" + std::to_string(framed_bytes(0) + 1) + "\r\n").make_iterator();
  Tensors element;
  EXPECT_THAT(error_of([&] { iterator->next(element); }), HasSubstr("line=1"));
}

TEST_F(RecordsByNumber, AnIndexMayLeaveRecordsOut) {
  const std::size_t third = framed_bytes(0) + framed_bytes(1);
  const Dataset data = with_index(std::to_string(third) + "  " + std::to_string(framed_bytes(2)));
  EXPECT_EQ(lines_of(data), std::vector<std::string>{indexed_text(2)});
}

TEST_F(RecordsByNumber, FilesThatChangeBreakTheSource) {
  const Dataset data = with_index("0 " + std::to_string(framed_bytes(0)) + "\n");
  const Dataset longer = tf_records({files_[1]}, {.indexed = true});
  Tensors element;
  // As long as before, and with another number of lines.
  write_file(index_[0], std::string(read_file(index_[0]).size(), '\n'));
  EXPECT_THROW(parse_dataset(serialize(data)).make_iterator()->next(element), BrokenSource);
  std::filesystem::remove(index_[0]);
  EXPECT_THROW(data.make_iterator()->next(element), BrokenSource);
  // Nothing is opened before something is read.
  EXPECT_EQ(parse_dataset(serialize(data)).cardinality(), 1);
  EXPECT_FALSE(longer.make_iterator()->next(element));
}

TEST_F(RecordsByNumber, TakeWhatCanBeAddressed) {
  EXPECT_THAT(error_of([&] { tf_records(files_, {.compression = "GZIP", .indexed = true}); }),
              HasSubstr("compression=GZIP"));
  EXPECT_THAT(error_of([&] { tf_records(files_, {.index_files = {index_[0]}}); }), HasSubstr("index_files.size=1"));
  EXPECT_THAT(error_of([&] { tf_records({files_[0]}, {.index_files = {folder_.file("none")}}); }),
              HasSubstr("NotFound"));
}

TEST_F(RecordsByNumber, AllocateNothingOnceTheyRun) {
  if (!cohort::test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  for (const Dataset& data : both()) EXPECT_EQ(allocations_of_passes(data), 0u);
}

// Examples of one number each, in two files that live as long as the process.
Dataset indexed_examples() {
  std::vector<std::string> files;
  for (const int file : {0, 1}) {
    files.push_back(shared_folder().file("indexed" + std::to_string(file)));
    if (std::filesystem::exists(files.back())) continue;
    TFRecordWriter writer(files.back());
    for (std::int64_t i = 0; i < 9; ++i) {
      writer.write(example({{"number", Tensor::of<std::int64_t>({9 * file + i}, {1})}}));
    }
    writer.close();
  }
  return tf_records(files, {.indexed = true});
}
DatasetTransform its_number() { return parse_example({{"number", FixedLenFeature({}, int64)}}); }

const PositionsCase kIndexedPositions[] = {
    {"parsed", [] { return indexed_examples().apply(its_number()); }},
    {"shuffled", [] { return indexed_examples().shuffle(18, {.seed = 2}).apply(its_number()); }},
    {"in_batches", [] { return indexed_examples().shuffle(18, {.seed = 2}).batch(4).apply(its_number()); }},
    {"shuffled_a_little_and_repeated",
     [] { return indexed_examples().shuffle(5, {.seed = 3}).repeat(2).batch(4).apply(its_number()).prefetch(2); }},
    {"chosen", [] { return indexed_examples().shard(3, 1).skip(1).take(4).apply(its_number()); }},
};
INSTANTIATE_TEST_SUITE_P(RecordsByNumber, Positions, testing::ValuesIn(kIndexedPositions), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
