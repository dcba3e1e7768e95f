#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "cohort/data/broken_source.h"
#include "tests/datasets/positions.h"
#include "tests/support/allocations.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort::datasets::test {

// Writes a file; its path.
inline std::string write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// Bytes as gzip or zlib pack them.
inline std::string packed(const std::string& bytes, bool gzip) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, gzip ? 15 + 16 : 15, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<unsigned>(bytes.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// A folder for all tests of a program.
inline const cohort::test::TemporaryFolder& shared_folder() {
  static const cohort::test::TemporaryFolder folder;
  return folder;
}

// An element as text: its leaves' types, shapes and values.
inline std::string as_text(const Tensors& element) {
  std::string text;
  for (const Tensor& leaf : element) {
    text += leaf.spec().to_string() + ":";
    if (leaf.dtype() == DType::String) {
      for (const std::string& part : leaf.to_strings()) text += part + "|";
    } else {
      for (const double number : leaf.to_vector<double>()) text += std::to_string(number) + "|";
    }
  }
  return text;
}

// The elements left, as text; "error" for one that fails.
inline std::vector<std::string> texts(DatasetIterator& iterator) {
  std::vector<std::string> result;
  for (bool more = true; more;) {
    Tensors element;
    try {
      more = iterator.next(element);
      if (more) result.push_back(as_text(element));
    } catch (const BrokenSource&) {
      throw;
    } catch (const Error&) {
      result.emplace_back("error");
    }
  }
  return result;
}
inline std::vector<std::string> texts(const Dataset& dataset) { return texts(*dataset.make_iterator()); }

// The strings of a dataset of single strings.
inline std::vector<std::string> lines_of(const Dataset& dataset) {
  std::vector<std::string> lines;
  auto iterator = dataset.make_iterator();
  for (Tensors element; iterator->next(element);) lines.push_back(element.at(0).to_strings().at(0));
  return lines;
}

// Wherever an iterator stands, skip(n) leaves what follows n calls of next, and a saved position what followed it; in
// another process too. Elements that fail count.
inline void expect_exact_positions(const Dataset& dataset) {
  const std::vector<std::string> expected = texts(dataset);
  const auto from = [&](std::size_t i) {
    return std::vector(expected.begin() + static_cast<std::ptrdiff_t>(std::min(i, expected.size())), expected.end());
  };
  const Dataset travelled = parse_dataset(serialize(dataset));
  auto walking = dataset.make_iterator();
  constexpr std::uint64_t kRecordsOfFile = std::uint64_t{1} << 40;
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i <= expected.size(); ++i) {
    auto restored = travelled.make_iterator();
    Tensors element;
    try {
      restored->next(element);
    } catch (const Error&) {
    }
    restored->restore(walking->save());
    ASSERT_EQ(texts(*restored), from(i)) << "restored at " << i;
    for (const std::size_t passed : {std::size_t{0}, std::size_t{1}, std::size_t{3}, expected.size() + 2}) {
      restored->restore(walking->save());
      ASSERT_EQ(restored->skip(passed), std::min(passed, expected.size() - i)) << i << " " << passed;
      ASSERT_EQ(texts(*restored), from(i + passed)) << i << " " << passed;
    }
    bool more = true;
    try {
      more = walking->next(element);
    } catch (const Error&) {
    }
    ASSERT_EQ(more, i < expected.size());
    if (i < expected.size()) {
      const std::optional<ElementKey> key = walking->key();
      ASSERT_TRUE(key.has_value());
      EXPECT_EQ(key->pass, 0u);
      keys.push_back(key->number);
    }
  }
  walking->rewind();
  EXPECT_EQ(texts(*walking), expected);
  if (!expected.empty()) {
    // A file's number, and the record's in it, each counted from 0.
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const bool follows = i > 0 && keys[i] == keys[i - 1] + 1;
      const bool begins = keys[i] % kRecordsOfFile == 0 && (i == 0 || keys[i] > keys[i - 1]);
      EXPECT_TRUE(follows || begins) << i << " " << keys[i];
    }
    EXPECT_EQ(walking->key(), (ElementKey{1, keys.back()}));
  }
}

// Allocations of five passes after a first one.
inline std::uint64_t allocations_of_passes(const Dataset& dataset) {
  auto iterator = dataset.make_iterator();
  Tensors element;
  std::uint64_t before = 0;
  for (int epoch = 0; epoch < 6; ++epoch) {
    if (epoch == 1) before = cohort::test::allocations();
    while (iterator->next(element)) {
    }
    iterator->rewind();
  }
  return cohort::test::allocations() - before;
}

}  // namespace cohort::datasets::test
