#include "cohort/datasets/sources/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "cohort/data/broken_source.h"
#include "cohort/datasets/sources/npy_header.h"
#include "cohort/files/atomic_file.h"
#include "tests/datasets/positions.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"
#include "tests/support/zip_bytes.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using cohort::test::TemporaryFolder;
using cohort::test::zip_bytes;
using testing::ElementsAre;
using testing::HasSubstr;

using Numbers = std::vector<std::vector<std::int64_t>>;

// A .npy file as numpy.save writes it: the header is padded so that the array begins at a multiple of 64.
std::string npy_with(const std::string& header, const std::string& data, int version = 1) {
  const std::size_t before = version == 1 ? 10 : 12;
  std::string text = header;
  text.append(63 - (before + text.size()) % 64, ' ').push_back('\n');
  std::string bytes = "\x93NUMPY";
  bytes.push_back(static_cast<char>(version));
  bytes.push_back(0);
  for (std::size_t i = 0; i < before - 8; ++i) bytes.push_back(static_cast<char>(text.size() >> (8 * i)));
  return bytes + text + data;
}
std::string header_of(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}
template <class T>
std::string bytes_of_values(std::vector<T> values, bool swapped = false) {
  std::string bytes;
  for (const T value : values) {
    std::string one(sizeof(T), '\0');
    std::memcpy(one.data(), &value, sizeof(T));
    if (swapped) std::reverse(one.begin(), one.end());
    bytes += one;
  }
  return bytes;
}

class Npy : public testing::Test {
 protected:
  Dataset of(const std::string& bytes) {
    write_file_atomically(folder_.file("a.npy"), bytes);
    return npy(folder_.file("a.npy"));
  }
  std::string error(const std::string& bytes) {
    return error_of([&] { all(of(bytes)); });
  }
  TemporaryFolder folder_;
};

TEST_F(Npy, GivesTheRowsOfTheArray) {
  for (const int version : {1, 2, 3}) {
    const Dataset data = of(npy_with(header_of("<f4", "(3, 2)"), bytes_of_values<float>({1, 2, 3, 4, 5, 6}), version));
    EXPECT_EQ(to_string(data.element_spec()), "float32(2,)");
    EXPECT_EQ(data.cardinality(), 3);
    EXPECT_EQ(all(data), (Numbers{{1, 2}, {3, 4}, {5, 6}})) << version;
  }
  EXPECT_EQ(all(of(npy_with(header_of("<i8", "(2,)"), bytes_of_values<std::int64_t>({-1, 7})))), (Numbers{{-1}, {7}}));
  EXPECT_EQ(all(of(npy_with(header_of("<i8", "(0, 3)"), ""))), Numbers{});
  // As other writers order and space it, and Python 2 wrote numbers.
  EXPECT_EQ(all(of(npy_with("{\"shape\":(2L,),\"descr\":\"|u1\",\"fortran_order\":False}", "\x05\xff"))),
            (Numbers{{5}, {255}}));
}

template <class T>
struct NpyType {
  const char* descr;
  DType dtype;
  std::vector<T> values;
};

TEST_F(Npy, ReadsEveryTypeInEitherByteOrder) {
  const auto check = [&]<class T>(const NpyType<T>& type) {
    for (const bool swapped : {false, true}) {
      const std::string descr = (sizeof(T) == 1 ? "|" : swapped ? ">" : "<") + std::string(type.descr);
      const Dataset data =
          of(npy_with(header_of(descr, "(2,)"), bytes_of_values(type.values, swapped && sizeof(T) > 1)));
      EXPECT_EQ(data.element_spec().leaf().dtype, type.dtype) << descr;
      EXPECT_EQ(all(data),
                (Numbers{{static_cast<std::int64_t>(type.values[0])}, {static_cast<std::int64_t>(type.values[1])}}))
          << descr;
    }
  };
  check(NpyType<std::int8_t>{"i1", int8, {-3, 100}});
  check(NpyType<std::uint8_t>{"u1", uint8, {3, 200}});
  check(NpyType<std::uint8_t>{"b1", boolean, {0, 1}});
  check(NpyType<std::int16_t>{"i2", int32, {-300, 20000}});
  check(NpyType<std::uint16_t>{"u2", int32, {300, 65535}});
  check(NpyType<std::int32_t>{"i4", int32, {-70000, 1 << 30}});
  check(NpyType<std::uint32_t>{"u4", int64, {70000, 4294967295u}});
  check(NpyType<std::int64_t>{"i8", int64, {-1, std::int64_t{1} << 40}});
  check(NpyType<float>{"f4", float32, {-2, 1024}});
  check(NpyType<double>{"f8", float64, {-2, 1024}});
  const Dataset halves = of(npy_with(header_of(">f2", "(2,)"), bytes_of_values<std::uint16_t>({0x3c00, 0xc000}, true)));
  EXPECT_EQ(all(halves), (Numbers{{1}, {-2}}));
  // A truth value is 0 or 1 whatever byte stands for it.
  const Dataset truth = of(npy_with(header_of("|b1", "(2,)"), std::string("\x02\x00", 2)));
  EXPECT_EQ(all(truth), (Numbers{{1}, {0}}));
}

TEST_F(Npy, ReadsColumnsFirst) {
  const std::string shape = "(2, 3, 2)";
  std::vector<std::int32_t> by_columns;
  Numbers expected(2);
  for (std::int32_t c = 0; c < 2; ++c) {
    for (std::int32_t b = 0; b < 3; ++b) {
      for (std::int32_t a = 0; a < 2; ++a) by_columns.push_back(100 * a + 10 * b + c);
    }
  }
  for (std::size_t a = 0; a < 2; ++a) {
    for (std::int64_t b = 0; b < 3; ++b) {
      for (std::int64_t c = 0; c < 2; ++c) expected[a].push_back(static_cast<std::int64_t>(100 * a) + 10 * b + c);
    }
  }
  for (const bool swapped : {false, true}) {
    EXPECT_EQ(all(of(npy_with(header_of(swapped ? ">i4" : "<i4", shape, true), bytes_of_values(by_columns, swapped)))),
              expected);
  }
}

TEST_F(Npy, IsRowsInMemory) {
  std::vector<std::int64_t> values(20);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  const Dataset data = of(npy_with(header_of("<i8", "(20,)"), bytes_of_values(values)));
  EXPECT_TRUE(data.stage().is_indexed());
  EXPECT_EQ(all(data.skip(3).shard(4, 1).batch(2)), all(rows(20).skip(3).shard(4, 1).batch(2)));
  EXPECT_EQ(all(data.shuffle(20, {.seed = 1}).batch(7)), all(rows(20).shuffle(20, {.seed = 1}).batch(7)));
  // Elements outlive everything else.
  Tensors element;
  {
    auto iterator = data.batch(20).make_iterator();
    ASSERT_TRUE(iterator->next(element));
  }
  std::filesystem::remove(folder_.file("a.npy"));
  EXPECT_EQ(element[0].to_vector<std::int64_t>(), values);
}

TEST_F(Npy, RefusesWhatItCannotRead) {
  EXPECT_THAT(error(npy_with(header_of("|O", "(2,)"), "pickle")), HasSubstr("Pickles are not read"));
  EXPECT_THAT(error(npy_with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234")),
              HasSubstr("an array of one type"));
  for (const char* descr : {"<U5", "|S3", "<c8", "<u8", "<f16", "<M8[ns]", "|V4", "f4", "<f", "<i3", "", "<b2"}) {
    EXPECT_THAT(error(npy_with(header_of(descr, "(1,)"), std::string(64, '\0'))), HasSubstr("Unimplemented")) << descr;
  }
  EXPECT_THAT(error(npy_with(header_of("<f4", "()"), "1234")), HasSubstr("at least one axis"));
  EXPECT_THAT(error(npy_with(header_of("<f4", "(1,1,1,1,1,1,1,1,1)"), "1234")), HasSubstr("at most 8 axes"));
  EXPECT_THAT(error(npy_with(header_of("<f4", "(1,)"), "1234", 4)), HasSubstr("version 1, 2 or 3"));
}

TEST_F(Npy, HeadersAreNotBelieved) {
  for (const char* shape : {"(3,)", "(4611686018427387904,)", "(4294967296, 4294967296)", "(0, 9223372036854775807, 4)",
                            "(9223372036854775808,)", "(-1,)", "(2", "2", "(a,)", "(1 1)"}) {
    EXPECT_THAT(error(npy_with(header_of("<f4", shape), std::string(8, '\0'))), HasSubstr("DataLoss")) << shape;
  }
  const std::string whole = npy_with(header_of("<f4", "(2,)"), std::string(8, '\0'));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(error(whole.substr(0, length)), HasSubstr("DataLoss")) << length;
  }
  std::string long_header = npy_with(header_of("<f4", "(2,)"), std::string(8, '\0'), 2);
  long_header[11] = 0x7f;
  EXPECT_THAT(error(long_header), HasSubstr("its header is too long"));
  for (const char* header : {"{}", "", "{'descr': '<f4'}", "[1]",
                             "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': "
                             "(2,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
                             "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}",
                             "{'descr': '<f4', 'fortran_order': False, 'other': (2,)}", "{'descr: <f4"}) {
    EXPECT_THAT(error(npy_with(header, std::string(8, '\0'))), HasSubstr("its header cannot be read")) << header;
  }
}

TEST_F(Npy, AFileThatIsGoneOrChangedBreaksTheSource) {
  const Dataset data = of(npy_with(header_of("<f4", "(2,)"), std::string(8, '\0')));
  const Dataset travelled = parse_dataset(serialize(data));
  Tensors element;
  const auto read = [&] { travelled.make_iterator()->next(element); };
  of(npy_with(header_of("<i4", "(2,)"), std::string(8, '\0')));  // of the same size
  EXPECT_THROW(read(), BrokenSource);
  of(npy_with(header_of("<f4", "(3,)"), std::string(12, '\0')));
  EXPECT_THROW(read(), BrokenSource);
  std::filesystem::remove(folder_.file("a.npy"));
  EXPECT_THROW(read(), BrokenSource);
  EXPECT_EQ(parse_dataset(serialize(data)).cardinality(), 2);
  EXPECT_THAT(error_of([&] { npy(folder_.file("a.npy")); }), HasSubstr("NotFound"));
  EXPECT_THAT(error_of([&] { npy(folder_.path().string()); }), HasSubstr("a regular file is expected"));
}

class Npz : public testing::Test {
 protected:
  std::string archive(const cohort::test::ZipMembers& members, bool deflated = false) {
    write_file_atomically(folder_.file("a.npz"), zip_bytes(members, deflated));
    return folder_.file("a.npz");
  }
  cohort::test::ZipMembers two_arrays_{
      {"x.npy", npy_with(header_of("|u1", "(3, 2)"), "\x01\x02\x03\x04\x05\x06")},
      {"y.npy", npy_with(header_of(">i4", "(3,)"), bytes_of_values<std::int32_t>({7, 8, 9}, true))}};
  TemporaryFolder folder_;
};

TEST_F(Npz, GivesRowsOfTheArraysNamed) {
  for (const bool deflated : {false, true}) {
    const std::string file = archive(two_arrays_, deflated);
    const Dataset pairs = npz(file, {"y", "x"});
    EXPECT_EQ(to_string(pairs.element_spec()), "(int32(), uint8(2,))");
    EXPECT_EQ(pairs.cardinality(), 3);
    EXPECT_EQ(all(pairs, 0), (Numbers{{7}, {8}, {9}}));
    EXPECT_EQ(all(pairs, 1), (Numbers{{1, 2}, {3, 4}, {5, 6}}));
    EXPECT_EQ(to_string(npz(file, {"x"}).element_spec()), "uint8(2,)");
    EXPECT_EQ(to_string(npz(file).element_spec()), "{x: uint8(2,), y: int32()}");
    EXPECT_EQ(all(npz(file).batch(2), 1), (Numbers{{7, 8}, {9}}));
  }
}

TEST_F(Npz, RefusesWhatItCannotRead) {
  EXPECT_THAT(error_of([&] { npz(archive(two_arrays_), {"z"}); }), HasSubstr("members=x.npy, y.npy"));
  two_arrays_.emplace_back("z.npy", npy_with(header_of("|u1", "(2,)"), "ab"));
  EXPECT_THAT(error_of([&] { npz(archive(two_arrays_)); }), HasSubstr("the same size along axis 0"));
  EXPECT_EQ(npz(archive(two_arrays_), {"x", "y"}).cardinality(), 3);
  two_arrays_.emplace_back("text.txt", "not an array");
  EXPECT_THAT(error_of([&] { npz(archive(two_arrays_)); }), HasSubstr("text.txt"));
  write_file_atomically(folder_.file("b.npz"), "no archive");
  EXPECT_THAT(error_of([&] { npz(folder_.file("b.npz")); }), HasSubstr("a whole zip archive is expected"));
  EXPECT_THAT(error_of([&] { npz(folder_.file("none.npz")); }), HasSubstr("NotFound"));
}

TEST_F(Npz, ADamagedArrayBreaksTheSource) {
  for (const bool deflated : {false, true}) {
    std::string data(4096, '\0');
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * i / 7);
    const std::string file = archive({{"x.npy", npy_with(header_of("|u1", "(4096,)"), data)}}, deflated);
    std::string bytes = read_file(file);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_file_atomically(file, bytes);
    const Dataset damaged = npz(file, {"x"});
    Tensors element;
    EXPECT_THROW(damaged.make_iterator()->next(element), BrokenSource) << deflated;
  }
}

// Files that live as long as the process.
Dataset lasting(bool archive) {
  static const TemporaryFolder folder;
  std::vector<std::int64_t> values(11);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * i);
  const std::string array = npy_with(header_of("<i8", "(11,)"), bytes_of_values(values));
  const std::string file = folder.file(archive ? "a.npz" : "a.npy");
  if (!std::filesystem::exists(file))
    write_file_atomically(file, archive ? zip_bytes({{"v.npy", array}}, true) : array);
  return archive ? npz(file) : npy(file);
}

const PositionsCase kNpyPositions[] = {
    {"npy", [] { return lasting(false); }},
    {"npz", [] { return lasting(true); }},
    {"shuffled_batches", [] { return lasting(false).shuffle(11, {.seed = 4}).batch(3); }},
};
INSTANTIATE_TEST_SUITE_P(Npy, Positions, testing::ValuesIn(kNpyPositions), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
