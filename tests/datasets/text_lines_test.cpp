#include "cohort/datasets/sources/text_lines.h"

#include <sys/stat.h>

#include <filesystem>

#include "tests/datasets/record_files.h"

namespace cohort::datasets::test {
namespace {

using Lines = std::vector<std::string>;

std::string text_file(const std::string& name, const std::string& bytes) {
  return write_file(shared_folder().file(name), bytes);
}

TEST(TextLines, EndWithNewLinesOrTheFile) {
  EXPECT_EQ(lines_of(text_lines(text_file("a.txt", "one\ntwo\r\n\nlast"))), (Lines{"one", "two", "", "last"}));
  EXPECT_EQ(lines_of(text_lines(text_file("b.txt", "one\n"))), Lines{"one"});
  EXPECT_EQ(lines_of(text_lines(text_file("c.txt", "\r\n\r"))), (Lines{"", "\r"}));
  EXPECT_EQ(lines_of(text_lines(text_file("d.txt", ""))), Lines{});
  EXPECT_EQ(to_string(text_lines(text_file("d.txt", "")).element_spec()), "string()");
  EXPECT_EQ(text_lines(text_file("d.txt", "")).cardinality(), kUnknownCardinality);
}

TEST(TextLines, ComeFileByFileWithoutHeaders) {
  const Lines files{text_file("h1.txt", "head\nmore\n1\n2"), text_file("h2.txt", "head"),
                    text_file("h3.txt", "head\nmore\n3\n")};
  EXPECT_EQ(lines_of(text_lines(files, {.skip_header_lines = 2})), (Lines{"1", "2", "3"}));
  EXPECT_EQ(lines_of(text_lines(files)).size(), 8u);
}

TEST(TextLines, ArePackedByGzipAndZlib) {
  std::string text;
  Lines expected;
  for (int i = 0; i < 50000; ++i) {
    expected.push_back("line " + std::to_string(i * 719));
    text += expected.back() + "\n";
  }
  EXPECT_EQ(lines_of(text_lines(text_file("p.txt", text))), expected);
  EXPECT_EQ(lines_of(text_lines(text_file("p.gz", packed(text, true)), {.compression = "gzip"})), expected);
  EXPECT_EQ(lines_of(text_lines(text_file("p.z", packed(text, false)), {.compression = "ZLIB"})), expected);
  // Two gzip files one behind the other are one.
  const std::string halves = packed(text.substr(0, 1000), true) + packed(text.substr(1000), true);
  EXPECT_EQ(lines_of(text_lines(text_file("two.gz", halves), {.compression = "gzip"})), expected);
}

TEST(TextLines, MayBeLongerThanWhatIsReadAtATime) {
  const std::string longest(5 << 20, 'x');
  const Lines lines = lines_of(text_lines(text_file("long.txt", "a\n" + longest + "\nb")));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1], longest);
  EXPECT_EQ(lines[2], "b");
}

TEST(TextLines, HaveExactPositions) {
  const std::string first = "h\na\nb\r\n\nc", second = "h\nd\n\n", third = "h\n";
  expect_exact_positions(text_lines(
      {text_file("x1.txt", first), text_file("x3.txt", third), text_file("x2.txt", second)}, {.skip_header_lines = 1}));
  expect_exact_positions(text_lines({text_file("x1.gz", packed(first, true)), text_file("x2.gz", packed(second, true))},
                                    {.compression = "gzip", .skip_header_lines = 1}));
}

TEST(TextLines, BatchLikeStreams) {
  const Dataset lines = text_lines({text_file("y1.txt", "a\nb\nc\nd"), text_file("y2.txt", "e\nf\ng\n")});
  EXPECT_EQ(texts(lines.batch(3)), texts(lines.prefetch(1).batch(3)));
  EXPECT_EQ(texts(lines.batch(3, {.drop_remainder = true})).size(), 2u);
  auto batches = lines.batch(3).make_iterator();
  Tensors element;
  ASSERT_TRUE(batches->next(element));
  ASSERT_TRUE(batches->next(element));
  EXPECT_EQ(batches->key(), (ElementKey{0, 3}));
  const std::string state = batches->save();
  auto other = lines.batch(3).make_iterator();
  other->restore(state);
  EXPECT_EQ(texts(*other), Lines{"string(1,):g|"});
}

TEST(TextLines, TakeNoMemoryInASteadyState) {
  if (!cohort::test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::string(40, 'x') + "\n";
  // Opening a file takes some, its lines none.
  EXPECT_LE(allocations_of_passes(text_lines({text_file("s1.txt", text), text_file("s2.txt", text)})), 50u);
  EXPECT_LE(allocations_of_passes(text_lines(text_file("s.gz", packed(text, true)), {.compression = "gzip"})), 50u);
}

// Elements that somebody keeps stay as they were.
TEST(TextLines, StayWhenTheyAreKept) {
  auto iterator = text_lines(text_file("k.txt", "one\ntwo")).make_iterator();
  Tensors element;
  iterator->next(element);
  const Tensors kept = element;
  iterator->next(element);
  EXPECT_EQ(kept[0].to_strings()[0], "one");
  EXPECT_EQ(element[0].to_strings()[0], "two");
}

TEST(TextLines, RefuseWhatIsNoRegularFile) {
  EXPECT_NE(cohort::test::error_of([] { text_lines(shared_folder().file("missing.txt")); }).find("missing.txt"),
            std::string::npos);
  EXPECT_NE(cohort::test::error_of([] { text_lines(shared_folder().path().string()); }).find("regular file"),
            std::string::npos);
  const std::string pipe = shared_folder().file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(cohort::test::error_of([&] { text_lines(pipe); }).find("regular file"), std::string::npos);
  EXPECT_NE(cohort::test::error_of([] { text_lines(Lines{}); }).find("at least one file"), std::string::npos);
  const std::string file = text_file("r.txt", "1\n");
  EXPECT_NE(cohort::test::error_of([&] { text_lines(file, {.compression = "zip"}); }).find("compression=zip"),
            std::string::npos);
  EXPECT_NE(cohort::test::error_of([&] { text_lines(file, {.skip_header_lines = -1}); }).find("negative"),
            std::string::npos);
}

TEST(TextLines, CannotGoOnInFilesThatChanged) {
  const std::string file = text_file("changed.txt", "one\ntwo\n");
  const Dataset data = text_lines(file);
  const std::string state = data.make_iterator()->save();
  Tensors element;
  text_file("changed.txt", "one\ntwo\nthree\n");
  EXPECT_THROW(data.make_iterator()->next(element), BrokenSource);
  EXPECT_THROW(data.make_iterator()->skip(1), BrokenSource);
  EXPECT_THROW(text_lines(file).make_iterator()->restore(state), Error);
  std::filesystem::remove(file);
  EXPECT_THROW(data.make_iterator()->next(element), BrokenSource);
  text_file("changed.txt", "1ne\ntwo\n");
  EXPECT_EQ(lines_of(data), (Lines{"1ne", "two"}));
}

TEST(TextLines, GiveWhatIsBeforeDamage) {
  std::string text;
  for (int i = 0; i < 300000; ++i) text += "line " + std::to_string(i * 719) + "\n";
  const std::string whole = packed(text, true);
  std::string corrupt = whole;
  corrupt[whole.size() / 2] ^= 0x55;
  std::string wrong_sum = whole;
  wrong_sum[whole.size() - 6] ^= 1;
  for (const std::string& bytes : {whole.substr(0, whole.size() / 2), corrupt, wrong_sum}) {
    auto iterator = text_lines(text_file("damaged.gz", bytes), {.compression = "gzip"}).make_iterator();
    Tensors element;
    int lines = 0;
    std::string message;
    for (bool more = true; more;) {
      try {
        more = iterator->next(element);
        lines += more;
      } catch (const BrokenSource& error) {
        message = error.what();
        more = false;
      }
    }
    EXPECT_GT(lines, 1000);
    EXPECT_NE(message.find("damaged.gz"), std::string::npos) << message;
    EXPECT_NE(message.find("offset="), std::string::npos) << message;
    EXPECT_THROW(iterator->next(element), BrokenSource);
  }
}

}  // namespace
}  // namespace cohort::datasets::test
