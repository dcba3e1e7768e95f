#include "cohort/datasets/sources/web_dataset.h"

#include <gmock/gmock.h>

#include <clocale>
#include <filesystem>

#include "tests/datasets/image_bytes.h"
#include "tests/datasets/record_files.h"
#include "tests/datasets/tar_bytes.h"

#if __has_include(<archive.h>)

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::string tar_file(const std::string& name, const std::string& bytes) {
  return write_file(shared_folder().file(name), bytes);
}
std::vector<std::string> numbered_members(int count, int first = 0) {
  std::vector<std::string> members;
  for (int i = first; i < first + count; ++i) {
    members.push_back(tar_member("s/" + std::to_string(i) + ".cls", std::to_string(i)));
    members.push_back(
        tar_member("s/" + std::to_string(i) + ".txt", std::string(static_cast<std::size_t>(i) * 300, 'x')));
  }
  return members;
}
const std::vector<WebField> kNumbered{{"cls", "integer"}, {"txt"}};

// The values of a field of strings.
std::vector<std::string> strings_of(const Dataset& dataset, std::size_t leaf) {
  std::vector<std::string> strings;
  const auto iterator = dataset.make_iterator();
  for (Tensors element; iterator->next(element);) strings.push_back(element.at(leaf).to_strings().at(0));
  return strings;
}

TEST(WebDataset, MembersWithOneKeyInARowAreASample) {
  const std::string file = tar_file(
      "rules.tar",
      tar_of({tar_member("a/", "", '5'), tar_member("a/1.TXT", "one"), tar_member("a/1.seg.txt", "mask"),
              tar_member("a/1.json", "{}"), tar_member("__meta__.txt", "passed by"), tar_member("a/readme", "no dot"),
              tar_member("a/.hidden", "no key"), tar_member("a.b/1.txt", "two"), tar_member("link.txt", "", '2'),
              tar_member("a.b/1.seg.txt", ""), tar_member("a/1.txt", "three"), tar_member("a/1.seg.txt", "3")}));
  const Dataset data = web_dataset(file, {{"__key__"}, {"txt", "bytes", "text"}, {"seg.txt"}});
  EXPECT_EQ(data.element_spec().kind(), ElementSpec::Kind::Dict);
  EXPECT_EQ(data.element_spec().key(1), "text");
  EXPECT_EQ(data.element_spec().key(2), "seg.txt");
  EXPECT_THAT(strings_of(data, 0), ElementsAre("a/1", "a.b/1", "a/1"));
  EXPECT_THAT(strings_of(data, 1), ElementsAre("one", "two", "three"));
  EXPECT_THAT(strings_of(data, 2), ElementsAre("mask", "", "3"));
  EXPECT_EQ(texts(data.batch(2)), texts(data.prefetch(1).batch(2)));
}

TEST(WebDataset, TheFirstExtensionThatASampleHasIsTaken) {
  const std::string file = tar_file(
      "choices.tar", tar_of({tar_member("1.png", "png"), tar_member("2.jpg", "jpg"), tar_member("2.png", "png"),
                             tar_member("3.png", "png"), tar_member("3.jpg", "jpg")}));
  EXPECT_THAT(strings_of(web_dataset(file, {{"JPG;png"}}), 0), ElementsAre("png", "jpg", "jpg"));
}

TEST(WebDataset, FieldsAreDecoded) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
  header.resize(118, ' ');
  const std::string array =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string("\0\0\x80\x3f\0\0\0\x40", 8);
  const std::string file = tar_file(
      "decoded.tar",
      tar_of({tar_member("1.png", plain_png(2, 3, 7)), tar_member("1.cls", " -12\n"), tar_member("1.npy", array),
              tar_member("2.cls", "x"), tar_member("2.npy", array), tar_member("2.png", plain_png(1, 1, 1)),
              tar_member("3.cls", "3"), tar_member("3.npy", array), tar_member("3.png", "no image"),
              tar_member("4.cls", "4"), tar_member("4.npy", array.substr(0, array.size() - 1)),
              tar_member("4.png", plain_png(1, 1, 1)), tar_member("5.cls", "5"),
              tar_member("5.npy", array.substr(0, 50)), tar_member("5.png", plain_png(1, 1, 1))}));
  const Dataset data = web_dataset(file, {{"cls", "integer"},
                                          {.extension = "jpg;png", .decode = "image", .name = "image"},
                                          {.extension = "npy", .decode = "npy", .shape = {kUnknown, 1}}});
  EXPECT_EQ(to_string(data.element_spec()), "{cls: int64(), image: uint8(None, None, 3), npy: float32(None, 1)}");
  std::string pixels;
  for (int i = 0; i < 18; ++i) pixels += "7.000000|";
  EXPECT_THAT(texts(data),
              ElementsAre("int64():-12.000000|uint8(2, 3, 3):" + pixels + "float32(2, 1):1.000000|2.000000|", "error",
                          "error", "error", "error"));
  const auto iterator = data.make_iterator();
  Tensors element;
  iterator->next(element);
  EXPECT_THAT(error_of([&] { iterator->next(element); }),
              testing::AllOf(HasSubstr("decoded.tar"), HasSubstr("key='2'"), HasSubstr("extension='cls'")));
  // Of another shape or type than the field's.
  EXPECT_EQ(texts(web_dataset(file, {{.extension = "npy", .decode = "npy", .shape = {3, 1}}}).take(1)).at(0), "error");
  EXPECT_EQ(
      texts(web_dataset(file, {{.extension = "npy", .decode = "npy", .dtype = DType::Int32, .shape = {2, 1}}}).take(1))
          .at(0),
      "error");
}

// Keys are the same bytes on every machine: neither cut nor put into the characters of a locale.
TEST(WebDataset, NamesAreBytes) {
  const std::string two_signs = "e\xcc\x81/" + std::string(200, 'k'), no_text = "\xff/" + std::string(150, 'k');
  const std::string long_name(180, 'n');
  const std::string file =
      tar_file("names.tar", tar_of({pax_member(two_signs + ".txt", "1"), pax_member(no_text + ".txt", "2"),
                                    tar_member("././@LongLink", long_name + ".txt", 'L') + tar_member("cut off", "3"),
                                    tar_member("\xc3\xa9.txt", "4")}));
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* locale : {"C", "C.UTF-8"}) {
    if (!std::setlocale(LC_ALL, locale)) continue;
    EXPECT_THAT(strings_of(web_dataset(file, {{"__key__"}}), 0), ElementsAre(two_signs, no_text, long_name, "\xc3\xa9"))
        << locale;
    EXPECT_STREQ(std::setlocale(LC_ALL, nullptr), locale);
  }
  std::setlocale(LC_ALL, before.c_str());
}

TEST(WebDataset, WrongSamplesAreErrorsInTheirPlace) {
  std::vector<std::string> members = numbered_members(2);
  const std::size_t third = tar_of(members).size() - 2 * kTarBlock;
  members.push_back(tar_member("missing.cls", "2"));
  members.push_back(tar_member("twice.cls", "3"));
  members.push_back(tar_member("twice.txt", ""));
  members.push_back(tar_member("twice.CLS", "3"));
  for (int i = 0; i < 1100; ++i) members.push_back(tar_member("many." + std::to_string(i), ""));
  for (const std::string& member : numbered_members(2, 4)) members.push_back(member);
  const Dataset data = web_dataset(tar_file("wrong.tar", tar_of(members)), kNumbered);
  const auto iterator = data.make_iterator();
  Tensors element;
  EXPECT_EQ(iterator->skip(2), 2u);
  const std::string missing = error_of([&] { iterator->next(element); });
  for (const std::string& part : {std::string("wrong.tar"), "offset=" + std::to_string(third),
                                  std::string("key='missing'"), std::string("extension='txt'")}) {
    EXPECT_THAT(missing, HasSubstr(part));
  }
  EXPECT_THAT(error_of([&] { iterator->next(element); }), HasSubstr("comes twice"));
  EXPECT_THAT(error_of([&] { iterator->next(element); }), HasSubstr("1024 members"));
  EXPECT_EQ(numbers(*iterator), (std::vector<std::int64_t>{4, 5}));
  EXPECT_EQ(numbers(data.ignore_errors()), (std::vector<std::int64_t>{0, 1, 4, 5}));
  expect_exact_positions(data);
}

// Plain or packed, cut anywhere: samples before that, an error or two, then the next file; walked, passed by or
// restored.
TEST(WebDataset, DamageCostsTheRestOfItsFile) {
  const std::string whole = tar_of(numbered_members(3));
  const std::string second = tar_file("second.tar", tar_of(numbered_members(2, 7)));
  const auto check = [&](const std::string& bytes, const std::string& what) {
    SCOPED_TRACE(what);
    const Dataset data = web_dataset({tar_file("cut.tar", bytes), second}, kNumbered);
    const std::vector<std::string> seen = texts(data);
    ASSERT_GE(seen.size(), 2u);
    // A sample whose last members were lost lacks them, which is an error of its own.
    EXPECT_LE(std::count(seen.begin(), seen.end(), "error"), 2);
    const auto left = numbers(data.ignore_errors());
    ASSERT_GE(left.size(), 2u);
    for (std::size_t i = 0; i + 2 < left.size(); ++i) EXPECT_EQ(left[i], static_cast<std::int64_t>(i));
    EXPECT_EQ(left.end()[-2], 7);
    EXPECT_EQ(left.end()[-1], 8);
    expect_exact_positions(data);
  };
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 100)
    check(whole.substr(0, bytes), "plain " + std::to_string(bytes));
  for (std::size_t block = 0; block < 6; ++block) {
    std::string broken = whole;
    broken[block * kTarBlock + 150] ^= 1;  // a header's sum, or contents
    check(broken, "header " + std::to_string(block));
  }
  for (const std::string& packed_bytes : {packed(whole, true), zstd_packed(whole)}) {
    const std::size_t step = packed_bytes.size() / 40 + 1;
    for (std::size_t bytes = 4; bytes < packed_bytes.size(); bytes += step) {
      check(packed_bytes.substr(0, bytes), "packed " + std::to_string(bytes));
    }
  }
}

TEST(WebDataset, AFileThatIsNoneIsOneError) {
  const std::string second = tar_file("after.tar", tar_of(numbered_members(1)));
  for (const std::string& bytes : {std::string(), std::string("no tar"), std::string(5000, 'x')}) {
    const Dataset data = web_dataset({tar_file("none.tar", bytes), second}, kNumbered);
    EXPECT_EQ(texts(data).size(), 2u);
    EXPECT_EQ(texts(data).front(), "error");
    expect_exact_positions(data);
  }
  const Dataset empty = web_dataset({tar_file("empty.tar", tar_of({})), second}, kNumbered);
  EXPECT_EQ(numbers(empty), (std::vector<std::int64_t>{0}));
}

// The sum at the end of gzip's data is looked at, though all members are whole.
TEST(WebDataset, DamageThatOnlyASumShowsIsSeen) {
  std::string bytes = packed(tar_of({tar_member("1.cls", "1"), tar_member("1.txt", std::string(600'000, 'y'))}), true);
  bytes[bytes.size() - 8] ^= 1;
  const Dataset data = web_dataset(tar_file("sum.tar.gz", bytes), kNumbered);
  EXPECT_EQ(texts(data).back(), "error");
  expect_exact_positions(data);
}

TEST(WebDataset, PackedFilesAreReadAlike) {
  const std::string bytes = tar_of(numbered_members(9));
  const std::string half = packed(bytes.substr(0, 3000), true) + packed(bytes.substr(3000), true);
  const std::vector<std::string> expected = texts(web_dataset(tar_file("plain.tar", bytes), kNumbered));
  ASSERT_EQ(expected.size(), 9u);
  for (const std::string& packed_bytes : {packed(bytes, true), half, zstd_packed(bytes)}) {
    const Dataset data = web_dataset(tar_file("packed.tar", packed_bytes), kNumbered);
    EXPECT_EQ(texts(data), expected);
    expect_exact_positions(data);
  }
}

// A header that lies takes no memory.
TEST(WebDataset, HugeMembersAreRefused) {
  for (const std::uint64_t bytes : {std::uint64_t{1} << 32, (std::uint64_t{1} << 30) - 1}) {
    const std::string lie = tar_member("0.cls", "0") + tar_member("0.txt", "") + tar_member("1.cls", "1") +
                            tar_header("1.txt", bytes) + "few";
    for (const std::string& file : {tar_file("lie.tar", lie), tar_file("lie.tar.gz", packed(lie, true))}) {
      const Dataset data = web_dataset(file, kNumbered);
      EXPECT_EQ(texts(data).size(), 2u);
      EXPECT_EQ(texts(data).back(), "error");
      expect_exact_positions(data);
    }
  }
}

TEST(WebDataset, RefusesWrongFields) {
  const std::string file = tar_file("fields.tar", tar_of(numbered_members(1)));
  const auto error = [&](const std::vector<WebField>& fields) { return error_of([&] { web_dataset(file, fields); }); };
  EXPECT_THAT(error({}), HasSubstr("at least one field"));
  EXPECT_THAT(error({{"txt"}, {"cls;txt", "bytes", "other"}}), HasSubstr("different extensions"));
  EXPECT_THAT(error({{"txt"}, {"cls", "bytes", "txt"}}), HasSubstr("different extensions and names"));
  EXPECT_THAT(error({{""}}), HasSubstr("not empty"));
  EXPECT_THAT(error({{"txt;"}}), HasSubstr("not empty"));
  EXPECT_THAT(error({{"txt", "jpeg"}}), HasSubstr("decode must be"));
  EXPECT_THAT(error({{"__key__", "integer"}}), HasSubstr("the key of a sample"));
  EXPECT_THAT(error({{.extension = "jpg", .decode = "image", .channels = 2}}), HasSubstr("1, 3 or 4 channels"));
  EXPECT_THAT(error({{.extension = "npy", .decode = "npy", .shape = {}}}), HasSubstr("with axes"));
  EXPECT_THAT(error({{.extension = "npy", .decode = "npy", .dtype = DType::String}}), HasSubstr("numbers"));
  EXPECT_THAT(error_of([&] { web_dataset(shared_folder().file("nowhere.tar"), kNumbered); }), HasSubstr("NotFound"));
}

TEST(WebDataset, AChangedFileEndsTheSource) {
  const std::string file = tar_file("changed.tar", tar_of(numbered_members(1)));
  const Dataset data = web_dataset(file, kNumbered);
  tar_file("changed.tar", tar_of(numbered_members(2)));
  Tensors element;
  const auto iterator = data.make_iterator();
  EXPECT_THROW(iterator->next(element), BrokenSource);
  std::filesystem::remove(file);
  EXPECT_THROW(iterator->skip(1), BrokenSource);
}

// Several files side by side, by however many threads.
TEST(WebDataset, InterleavedFilesComeInOneOrder) {
  std::vector<std::string> files;
  for (int i = 0; i < 5; ++i) {
    files.push_back(tar_file("part" + std::to_string(i) + ".tar", tar_of(numbered_members(i + 1, 10 * i))));
  }
  const auto open = [](const Tensor& name) { return web_dataset(name.to_strings().at(0), kNumbered); };
  const Dataset names = from_tensor_slices(Tensor::of_strings(files, {5}));
  const auto expected = numbers(names.interleave(open, {.cycle_length = 3}));
  EXPECT_EQ(expected.size(), 15u);
  for (const std::int64_t calls : {1, 2, 8}) {
    EXPECT_EQ(numbers(names.interleave(open, {.cycle_length = 3, .num_parallel_calls = calls})), expected);
  }
}

const PositionsCase kWebDatasetCases[] = {
    {"web_dataset", [] { return web_dataset(tar_file("p.tar", tar_of(numbered_members(6))), kNumbered); }},
    {"packed_web_dataset",
     [] { return web_dataset(tar_file("p.tar.gz", packed(tar_of(numbered_members(6)), true)), kNumbered); }},
    {"batched_web_dataset",
     [] {
       const std::string file = tar_file("q.tar", tar_of(numbered_members(5)));
       return web_dataset({file, file}, kNumbered).shuffle(3, {.seed = 1}).batch(4);
     }},
};
INSTANTIATE_TEST_SUITE_P(WebDataset, Positions, testing::ValuesIn(kWebDatasetCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test

#else

// The library was built without libarchive.
TEST(WebDataset, NeedsLibarchive) {
  const cohort::test::TemporaryFolder folder;
  const std::string file = cohort::datasets::test::write_file(folder.file("a.tar"), "");
  EXPECT_THAT(cohort::test::error_of([&] { cohort::datasets::web_dataset(file, {{"txt"}}); }),
              testing::HasSubstr("libarchive"));
}

#endif
