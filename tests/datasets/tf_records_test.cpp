#include "cohort/datasets/sources/tf_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "cohort/data/broken_source.h"
#include "cohort/datasets/sources/tf_record_writer.h"
#include "cohort/datasets/transforms/parse_example.h"
#include "cohort/files/atomic_file.h"
#include "cohort/files/record.h"
#include "tests/datasets/positions.h"
#include "tests/support/allocations.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using cohort::test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

std::string record_text(int i) {
  return "record " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 5), '.');
}

// What an iterator still gives; in place of an element that fails "error".
std::vector<std::string> records_left(DatasetIterator& iterator) {
  std::vector<std::string> records;
  Tensors element;
  for (bool more = true; more;) {
    try {
      more = iterator.next(element);
      if (more) records.push_back(element.at(0).to_strings().at(0));
    } catch (const BrokenSource&) {
      throw;
    } catch (const Error&) {
      records.emplace_back("error");
    }
  }
  return records;
}
std::vector<std::string> records_of(const Dataset& dataset) { return records_left(*dataset.make_iterator()); }

void write_records(const std::string& path, int first, int end, const std::string& compression = "") {
  TFRecordWriter writer(path, {.compression = compression});
  for (int i = first; i < end; ++i) writer.write(record_text(i));
  writer.close();
}

TEST(TFRecords, GivesTheRecordsOfItsFilesInOrder) {
  for (const std::string compression : {"", "GZIP", "ZLIB"}) {
    const TemporaryFolder folder;
    write_records(folder.file("a"), 0, 7, compression);
    write_records(folder.file("empty"), 0, 0, compression);
    write_records(folder.file("b"), 7, 12, compression);
    const Dataset data =
        tf_records({folder.file("a"), folder.file("empty"), folder.file("b")}, {.compression = compression});
    std::vector<std::string> expected;
    for (int i = 0; i < 12; ++i) expected.push_back(record_text(i));
    EXPECT_EQ(records_of(data), expected) << compression;
    EXPECT_EQ(to_string(data.element_spec()), "string()");
    EXPECT_EQ(data.cardinality(), kUnknownCardinality);
  }
  EXPECT_EQ(tf_records({}).cardinality(), 0);
  EXPECT_TRUE(records_of(tf_records({})).empty());
}

// One record "hello", its sums worked out bit by bit as the format's description says.
TEST(TFRecords, ReadsTheFormatToTheLetter) {
  constexpr unsigned char kFile[] = {0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xea, 0xb2, 0x04,
                                     0x3e, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0xbb, 0x1f, 0x1c, 0x19};
  const TemporaryFolder folder;
  const std::string bytes(reinterpret_cast<const char*>(kFile), sizeof kFile);
  write_file_atomically(folder.file("a"), bytes);
  EXPECT_THAT(records_of(tf_records({folder.file("a")})), ElementsAre("hello"));
  TFRecordWriter writer(folder.file("b"));
  writer.write("hello");
  writer.close();
  EXPECT_EQ(read_file(folder.file("b")), bytes);
}

TEST(TFRecords, RecordsLargerThanTheBufferAreWhole) {
  for (const std::string compression : {"", "GZIP"}) {
    const TemporaryFolder folder;
    std::string large(3 << 20, 'x');
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 + i / 1000);
    TFRecordWriter writer(folder.file("a"), {.compression = compression});
    for (const std::string_view record :
         {std::string_view("small"), std::string_view(large), std::string_view("last")}) {
      writer.write(record);
    }
    writer.close();
    const Dataset data = tf_records({folder.file("a")}, {.compression = compression});
    EXPECT_THAT(records_of(data), ElementsAre("small", large, "last"));
    auto iterator = data.make_iterator();
    EXPECT_EQ(iterator->skip(2), 2u);
    EXPECT_THAT(records_left(*iterator), ElementsAre("last"));
  }
}

class DamagedRecords : public testing::Test {
 protected:
  // Two files of five records; the first is changed by `damage`.
  Dataset damaged(const std::function<void(std::string&)>& damage) {
    write_records(folder_.file("a"), 0, 5);
    write_records(folder_.file("b"), 5, 7);
    std::string bytes = read_file(folder_.file("a"));
    damage(bytes);
    write_file_atomically(folder_.file("a"), bytes);
    return tf_records({folder_.file("a"), folder_.file("b")});
  }
  static std::size_t start_of(int record) {
    std::size_t start = 0;
    for (int i = 0; i < record; ++i) start += 16 + record_text(i).size();
    return start;
  }
  TemporaryFolder folder_;
};

TEST_F(DamagedRecords, WrongBytesLoseOneRecord) {
  const Dataset data = damaged([](std::string& bytes) { bytes[start_of(2) + 13] ^= 1; });
  EXPECT_THAT(records_of(data), ElementsAre(record_text(0), record_text(1), "error", record_text(3), record_text(4),
                                            record_text(5), record_text(6)));
  auto iterator = data.make_iterator();
  Tensors element;
  iterator->skip(2);
  const std::string error = error_of([&] { iterator->next(element); });
  EXPECT_THAT(error, HasSubstr("DataLoss datasets.tf_records"));
  EXPECT_THAT(error, HasSubstr("file=" + folder_.file("a")));
  EXPECT_THAT(error, HasSubstr("offset=" + std::to_string(start_of(2))));
  EXPECT_THAT(error, HasSubstr("record=2"));
  EXPECT_EQ(iterator->key(), (ElementKey{0, 2}));
}

TEST_F(DamagedRecords, AWrongLengthLosesTheRestOfItsFile) {
  const Dataset data = damaged([](std::string& bytes) { bytes[start_of(2) + 1] ^= 1; });
  EXPECT_THAT(records_of(data), ElementsAre(record_text(0), record_text(1), "error", record_text(5), record_text(6)));
}

TEST_F(DamagedRecords, AFileThatEndsInsideARecordLosesIt) {
  for (const std::size_t left : {1u, 11u, 12u, 17u}) {
    const Dataset data = damaged([&](std::string& bytes) { bytes.resize(start_of(3) + left); });
    EXPECT_THAT(records_of(data),
                ElementsAre(record_text(0), record_text(1), record_text(2), "error", record_text(5), record_text(6)))
        << left;
  }
}

TEST_F(DamagedRecords, AreCountedWhenPassedBy) {
  const std::function<void(std::string&)> damages[] = {[](std::string&) {},
                                                       [](std::string& bytes) { bytes[start_of(2) + 13] ^= 1; },
                                                       [](std::string& bytes) { bytes[start_of(2) + 1] ^= 1; },
                                                       [](std::string& bytes) { bytes.resize(start_of(3) + 13); }};
  for (const auto& damage : damages) {
    const Dataset data = damaged(damage);
    const std::vector<std::string> expected = records_of(data);
    for (std::size_t first = 0; first < 3; ++first) {
      for (std::size_t passed = 0; passed <= expected.size() + 1; ++passed) {
        auto iterator = data.make_iterator();
        Tensors element;
        for (std::size_t i = 0; i < first; ++i) error_of([&] { iterator->next(element); });
        const std::size_t there = expected.size() - first;
        ASSERT_EQ(iterator->skip(passed), std::min(passed, there));
        const auto at = static_cast<std::ptrdiff_t>(first + std::min(passed, there));
        ASSERT_EQ(records_left(*iterator), std::vector(expected.begin() + at, expected.end()))
            << first << " " << passed;
      }
    }
  }
}

// A length whose sum is right but that no file has is refused before memory is asked for.
TEST(TFRecords, LengthsAreNotBelieved) {
  const TemporaryFolder folder;
  for (const std::uint64_t length :
       {std::uint64_t{1} << 29, (std::uint64_t{1} << 30) + 1, UINT64_MAX - 15, UINT64_MAX}) {
    std::string bytes(reinterpret_cast<const char*>(&length), 8);
    const std::uint32_t sum = masked_crc32c(bytes);
    bytes.append(reinterpret_cast<const char*>(&sum), 4).append("some bytes");
    write_file_atomically(folder.file("a"), bytes);
    EXPECT_THAT(records_of(tf_records({folder.file("a")})), ElementsAre("error")) << length;
    auto iterator = tf_records({folder.file("a")}).make_iterator();
    EXPECT_EQ(iterator->skip(3), 1u);
  }
}

TEST(TFRecords, ADamagedPackedFileGivesWhatComesBefore) {
  const TemporaryFolder folder;
  write_records(folder.file("a"), 0, 2000, "GZIP");
  write_records(folder.file("b"), 2000, 2002, "GZIP");
  const std::string whole = read_file(folder.file("a"));
  for (const bool cut : {true, false}) {
    std::string bytes = whole;
    if (cut) {
      bytes.resize(bytes.size() * 3 / 4);
    } else {
      for (std::size_t i = 0; i < 40; ++i) bytes[bytes.size() * 3 / 4 + i] = static_cast<char>(0xff);
    }
    write_file_atomically(folder.file("a"), bytes);
    const auto records = records_of(tf_records({folder.file("a"), folder.file("b")}, {.compression = "GZIP"}));
    ASSERT_GT(records.size(), 1000u);
    EXPECT_EQ(records[500], record_text(500));
    EXPECT_EQ(records[records.size() - 3], "error");
    EXPECT_EQ(records.back(), record_text(2001));
  }
}

TEST(TFRecords, PackedFilesMayBeSeveralStreams) {
  const TemporaryFolder folder;
  write_records(folder.file("a"), 0, 3, "GZIP");
  write_records(folder.file("b"), 3, 5, "GZIP");
  write_file_atomically(folder.file("both"), read_file(folder.file("a")) + read_file(folder.file("b")));
  EXPECT_EQ(records_of(tf_records({folder.file("both")}, {.compression = "GZIP"})).size(), 5u);
}

TEST(TFRecords, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { tf_records({folder.file("none")}); }), HasSubstr("NotFound"));
  EXPECT_THAT(error_of([&] { tf_records({folder.path().string()}); }), HasSubstr("a regular file is expected"));
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { tf_records({folder.file("pipe")}); }), HasSubstr("a regular file is expected"));
  write_records(folder.file("a"), 0, 2);
  EXPECT_THAT(error_of([&] { tf_records({folder.file("a")}, {.compression = "LZMA"}); }),
              HasSubstr("compression=LZMA"));
}

TEST(TFRecords, AFileThatIsGoneOrChangedBreaksTheSource) {
  const TemporaryFolder folder;
  write_records(folder.file("a"), 0, 2);
  const Dataset data = tf_records({folder.file("a")});
  const Dataset travelled = parse_dataset(serialize(data));
  write_records(folder.file("a"), 0, 3);
  Tensors element;
  auto iterator = travelled.make_iterator();
  EXPECT_THROW(iterator->next(element), BrokenSource);
  EXPECT_THROW(iterator->skip(1), BrokenSource);
  std::filesystem::remove(folder.file("a"));
  EXPECT_THROW(iterator->next(element), BrokenSource);
  // Nothing is opened before something is read.
  EXPECT_EQ(parse_dataset(serialize(data)).cardinality(), kUnknownCardinality);
}

TEST(TFRecords, TheirKeysAreNumbersAndPasses) {
  const TemporaryFolder folder;
  write_records(folder.file("a"), 0, 2);
  write_records(folder.file("b"), 2, 4);
  auto iterator = tf_records({folder.file("a"), folder.file("b")}).make_iterator();
  Tensors element;
  EXPECT_EQ(iterator->key(), std::nullopt);
  for (std::uint64_t pass = 0; pass < 2; ++pass) {
    for (std::uint64_t number = 0; number < 4; ++number) {
      ASSERT_TRUE(iterator->next(element));
      EXPECT_EQ(iterator->key(), (ElementKey{pass, number / 2 << 40 | number % 2}));
    }
    iterator->rewind();
  }
}

TEST(TFRecords, RefusesPositionsOutsideTheFiles) {
  const TemporaryFolder folder;
  write_records(folder.file("a"), 0, 2);
  auto iterator = tf_records({folder.file("a")}).make_iterator();
  for (const auto& [file, offset] : {std::pair{0, 1000}, std::pair{1, 1}, std::pair{2, 0}}) {
    std::string state;
    StateWriter writer(state);
    writer.stage('R');
    for (const int field : {0, 0, file, 0, offset}) writer.number(static_cast<std::uint64_t>(field));
    StateReader reader(state);
    EXPECT_THROW(iterator->restore_from(reader), Error);
  }
}

TEST(TFRecords, AllocateNothingOnceTheyRun) {
  if (!cohort::test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  const TemporaryFolder folder;
  TFRecordWriter writer(folder.file("a"));
  for (int i = 0; i < 2000; ++i) writer.write(std::string(1000, static_cast<char>('a' + i % 26)));
  writer.close();
  auto iterator = tf_records({folder.file("a")}).make_iterator();
  Tensors element;
  ASSERT_TRUE(iterator->next(element));
  const std::uint64_t before = cohort::test::allocations();
  for (int i = 1; i < 2000; ++i) ASSERT_TRUE(iterator->next(element));
  EXPECT_EQ(cohort::test::allocations() - before, 0u);
}

TEST(TFRecords, ElementsThatAreKeptStayAsTheyWere) {
  const TemporaryFolder folder;
  write_records(folder.file("a"), 0, 3);
  auto iterator = tf_records({folder.file("a")}).make_iterator();
  Tensors element;
  std::vector<Tensor> kept;
  while (iterator->next(element)) kept.push_back(element[0]);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(kept[static_cast<std::size_t>(i)].to_strings()[0], record_text(i));
}

TEST(TFRecordWriter, LeavesTheOldFileUntilItIsClosed) {
  const TemporaryFolder folder;
  write_records(folder.file("a"), 0, 2);
  {
    TFRecordWriter writer(folder.file("a"));
    writer.write("lost");
  }
  EXPECT_EQ(records_of(tf_records({folder.file("a")})).size(), 2u);
  TFRecordWriter writer(folder.file("a"));
  writer.write("new");
  EXPECT_EQ(records_of(tf_records({folder.file("a")})).size(), 2u);
  writer.close();
  writer.close();
  EXPECT_THAT(records_of(tf_records({folder.file("a")})), ElementsAre("new"));
  EXPECT_THROW(writer.write("more"), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

// Examples of one number each, in two files that live as long as the process.
Dataset numbered_examples(const std::string& compression) {
  static const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const int file : {0, 1}) {
    files.push_back(folder.file("numbers" + compression + std::to_string(file)));
    if (std::filesystem::exists(files.back())) continue;
    TFRecordWriter writer(files.back(), {.compression = compression});
    for (std::int64_t i = 0; i < 11; ++i) {
      writer.write(example({{"number", Tensor::of<std::int64_t>({11 * file + i}, {1})}}));
    }
    writer.close();
  }
  return tf_records(files, {.compression = compression});
}
DatasetTransform parse_number() { return parse_example({{"number", FixedLenFeature({}, int64)}}); }

const PositionsCase kRecordPositions[] = {
    {"parsed", [] { return numbered_examples("").apply(parse_number()); }},
    {"packed", [] { return numbered_examples("GZIP").apply(parse_number()); }},
    {"packed_by_zlib", [] { return numbered_examples("ZLIB").apply(parse_number()); }},
    {"batched_and_parsed", [] { return numbered_examples("").batch(4).apply(parse_number()); }},
    {"whole_batches", [] { return numbered_examples("").batch(4, {.drop_remainder = true}).apply(parse_number()); }},
    {"parsed_and_batched", [] { return numbered_examples("").apply(parse_number()).batch(4); }},
    {"batches_prefetched_and_parsed", [] { return numbered_examples("").batch(4).prefetch(2).apply(parse_number()); }},
    {"shuffled_and_repeated",
     [] { return numbered_examples("").shuffle(5, {.seed = 3}).repeat(2).batch(4).apply(parse_number()).prefetch(2); }},
    {"sharded", [] { return numbered_examples("GZIP").shard(3, 1).apply(parse_number()); }},
};
INSTANTIATE_TEST_SUITE_P(TFRecords, Positions, testing::ValuesIn(kRecordPositions), name_of_case);

// skip() as walking there.
TEST(TFRecords, PassingByLeavesTheElementsThatFollow) {
  for (const PositionsCase& each : kRecordPositions) {
    const Dataset data = each.make();
    const auto walked = data.make_iterator();
    const std::string start = walked->save();
    const auto expected = rest(*walked);
    for (std::size_t passed = 0; passed <= expected.size() + 1; ++passed) {
      auto iterator = data.make_iterator();
      iterator->restore(start);
      const std::size_t there = std::min(passed, expected.size());
      ASSERT_EQ(iterator->skip(passed), there) << each.name;
      ASSERT_EQ(rest(*iterator), std::vector(expected.begin() + static_cast<std::ptrdiff_t>(there), expected.end()))
          << each.name << " " << passed;
    }
  }
}

}  // namespace
}  // namespace cohort::datasets::test
