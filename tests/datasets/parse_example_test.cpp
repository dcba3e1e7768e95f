#include "cohort/datasets/transforms/parse_example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "cohort/datasets/sources/tf_record_writer.h"
#include "cohort/datasets/sources/tf_records.h"
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

using namespace std::string_literals;

Dataset strings(const std::vector<std::string>& values) {
  return from_tensor_slices(Tensor::of_strings(values, {static_cast<std::int64_t>(values.size())}));
}
// The same without numbers to reach them by.
Dataset streamed_strings(const std::vector<std::string>& values) { return strings(values).prefetch(1); }

Tensors first_of(const Dataset& data) {
  Tensors element;
  EXPECT_TRUE(data.make_iterator()->next(element));
  return element;
}
// The only Example of a dataset, parsed.
Tensors parsed(const std::string& bytes, const ExampleFeatures& features) {
  return first_of(strings({bytes}).apply(parse_example(features)));
}

// A message's field with a length, below 128 bytes.
std::string field(char number, const std::string& bytes) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) + bytes;
}
std::string entry(const std::string& key, const std::string& feature) {
  return field(1, field(1, key) + field(2, feature));
}
std::string example_of(const std::string& entries) { return field(1, entries); }

TEST(ParseExample, GivesADictOfTheFeaturesAskedFor) {
  const std::string bytes = example({{"unwanted", Tensor::of<float>({1, 2}, {2})},
                                     {"image", Tensor::of<float>({1, 2, 3, 4}, {4})},
                                     {"label", Tensor::of<std::int64_t>({-7}, {1})},
                                     {"name", Tensor::of_strings({"a\0b"s, ""}, {2})}});
  const Dataset data = strings({bytes}).apply(parse_example({{"label", FixedLenFeature({}, int64)},
                                                             {"image", FixedLenFeature({2, 2}, float32)},
                                                             {"name", FixedLenFeature({2}, string)}}));
  EXPECT_EQ(to_string(data.element_spec()), "{label: int64(), image: float32(2, 2), name: string(2,)}");
  const Tensors element = first_of(data);
  EXPECT_EQ(element[0].item<std::int64_t>(), -7);
  EXPECT_EQ(element[0].shape(), Shape({}));
  EXPECT_EQ(element[1].shape(), Shape({2, 2}));
  EXPECT_THAT(element[1].to_vector<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(element[2].to_strings(), ElementsAre("a\0b"s, ""));
}

TEST(ParseExample, WrittenExamplesAreThoseOfProtobuf) {
  EXPECT_EQ(example({{"i", Tensor::of<std::int64_t>({1, 300}, {2})}}),
            example_of(entry("i", field(3, field(1, "\x01\xac\x02")))));
  EXPECT_EQ(example({{"f", Tensor::of<float>({1}, {1})}}), example_of(entry("f", field(2, field(1, "\0\0\x80\x3f"s)))));
  EXPECT_EQ(example({{"s", Tensor::of_strings({"ab", "c"}, {2})}}),
            example_of(entry("s", field(1, field(1, "ab") + field(1, "c")))));
  EXPECT_EQ(example({{"b", Tensor::of<bool>({true}, {1})}}), example_of(entry("b", field(3, field(1, "\x01")))));
  EXPECT_THROW(example({{"a", Tensor::scalar(1)}, {"a", Tensor::scalar(2)}}), Error);
  EXPECT_THROW(example({{"a", Tensor()}}), Error);
}

TEST(ParseExample, ListsMayBePackedOrNot) {
  const std::string ones = "\x0d\0\0\x80\x3f"s, packed = field(1, "\0\0\0\x40\0\0\x40\x40"s);
  EXPECT_THAT(parsed(example_of(entry("f", field(2, ones + packed))), {{"f", FixedLenFeature({3}, float32)}})[0]
                  .to_vector<float>(),
              ElementsAre(1, 2, 3));
  const std::string minus_one = "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  EXPECT_THAT(parsed(example_of(entry("i", field(3, minus_one + "\x08\x05" + field(1, "\x06\x07")))),
                     {{"i", FixedLenFeature({4}, int64)}})[0]
                  .to_vector<std::int64_t>(),
              ElementsAre(-1, 5, 6, 7));
}

TEST(ParseExample, TheLastOfSeveralEntriesCounts) {
  const auto number = [](char value) { return entry("n", field(3, field(1, std::string(1, value)))); };
  const ExampleFeatures features{{"n", FixedLenFeature({}, int64)}};
  EXPECT_EQ(parsed(example_of(number(1) + number(2)), features)[0].item<std::int64_t>(), 2);
  // Features may come in parts, and among fields of later versions.
  const std::string unknown = "\x78\x01\x7d\1\2\3\4\x79\1\2\3\4\5\6\7\x08" + field(14, "?");
  EXPECT_EQ(parsed(unknown + example_of(unknown + number(1)) + example_of(number(3)), features)[0].item<std::int64_t>(),
            3);
}

TEST(ParseExample, WhatIsMissingIsItsDefault) {
  const ExampleFeatures features{{"f", FixedLenFeature({2}, float32, Tensor::scalar(5))},
                                 {"g", FixedLenFeature({2}, float32, Tensor::of<float>({8, 9}, {2}))},
                                 {"i", FixedLenFeature({}, int64, Tensor::scalar(-1, int64))},
                                 {"s", FixedLenFeature({2}, string, Tensor::of_strings({"none"}, {}))}};
  // Also one that is there without values.
  for (const std::string& bytes : {""s, example_of(""), example_of(entry("f", "") + entry("i", ""))}) {
    const Tensors element = parsed(bytes, features);
    EXPECT_THAT(element[0].to_vector<float>(), ElementsAre(5, 5));
    EXPECT_THAT(element[1].to_vector<float>(), ElementsAre(8, 9));
    EXPECT_EQ(element[2].item<std::int64_t>(), -1);
    EXPECT_THAT(element[3].to_strings(), ElementsAre("none", "none"));
  }
  const std::string error = error_of([&] { parsed("", {{"x", FixedLenFeature({}, int64)}}); });
  EXPECT_THAT(error, HasSubstr("a feature without a default must be in every Example"));
  EXPECT_THAT(error, HasSubstr("feature=x, row=0, element=0"));
}

std::vector<std::string> examples_of_lengths(const std::vector<int>& lengths) {
  std::vector<std::string> result;
  for (const int length : lengths) {
    std::vector<std::int64_t> values;
    std::vector<std::string> words;
    for (int i = 0; i < length; ++i) {
      values.insert(values.end(), {10 * length + i, -i});
      words.push_back("w" + std::to_string(i));
    }
    const auto count = static_cast<std::int64_t>(length);
    result.push_back(example({{"v", Tensor::of(values, {2 * count})}, {"w", Tensor::of_strings(words, {count})}}));
  }
  return result;
}

TEST(ParseExample, SequencesArePaddedToTheLongest) {
  const ExampleFeatures features{{"v", FixedLenSequenceFeature({2}, int64, Tensor::scalar(99, int64))},
                                 {"w", FixedLenSequenceFeature({}, string)},
                                 {"none", FixedLenSequenceFeature({}, float32)}};
  for (const Dataset& source :
       {strings(examples_of_lengths({2, 0, 1})), streamed_strings(examples_of_lengths({2, 0, 1}))}) {
    const Dataset data = source.batch(3).apply(parse_example(features));
    EXPECT_EQ(to_string(data.element_spec()),
              "{v: int64(None, None, 2), w: string(None, None), none: "
              "float32(None, None)}");
    const Tensors batch = first_of(data);
    EXPECT_EQ(batch[0].shape(), Shape({3, 2, 2}));
    EXPECT_THAT(batch[0].to_vector<std::int64_t>(), ElementsAre(20, 0, 21, -1, 99, 99, 99, 99, 10, 0, 99, 99));
    EXPECT_THAT(batch[1].to_strings(), ElementsAre("w0", "w1", "", "", "w0", ""));
    EXPECT_EQ(batch[2].shape(), Shape({3, 0}));
  }
  const Tensors single = parsed(examples_of_lengths({2})[0], features);
  EXPECT_EQ(single[0].shape(), Shape({2, 2}));
  EXPECT_EQ(single[1].shape(), Shape({2}));
  EXPECT_THAT(error_of([] {
                parsed(example({{"v", Tensor::of<std::int64_t>({1, 2, 3}, {3})}}),
                       {{"v", FixedLenSequenceFeature({2}, int64)}});
              }),
              HasSubstr("a multiple of its shape's values is expected. Received: feature=v"));
}

TEST(ParseExample, RefusesValuesThatDoNotFit) {
  const std::string bytes = example({{"f", Tensor::of<float>({1, 2, 3}, {3})},
                                     {"i", Tensor::of<std::int64_t>({1, 2}, {2})},
                                     {"s", Tensor::of_strings({"a", "b"}, {2})}});
  const auto error = [&](const std::string& name, const Shape& shape, DType dtype) {
    return error_of([&] { parsed(bytes, {{name, FixedLenFeature(shape, dtype)}}); });
  };
  EXPECT_THAT(error("f", {2}, float32), HasSubstr("feature=f, shape=(2,), values=more"));
  EXPECT_THAT(error("f", {4}, float32), HasSubstr("feature=f, shape=(4,), values=3"));
  EXPECT_THAT(error("f", {0}, float32), HasSubstr("feature=f"));
  EXPECT_THAT(error("i", {}, int64), HasSubstr("feature=i"));
  EXPECT_THAT(error("i", {3}, int64), HasSubstr("values=2"));
  EXPECT_THAT(error("s", {}, string), HasSubstr("feature=s"));
  EXPECT_THAT(error("s", {3}, string), HasSubstr("values=2"));
  EXPECT_THAT(error("f", {3}, int64), HasSubstr("feature=f, dtype=int64, received=float32"));
  EXPECT_THAT(error("i", {2}, string), HasSubstr("dtype=string, received=int64"));
  EXPECT_THAT(error("s", {2}, float32), HasSubstr("dtype=float32, received=string"));
}

TEST(ParseExample, RefusesFeaturesThatCannotBe) {
  const Dataset source = strings({""});
  const auto error = [&](const ExampleFeatures& features) {
    return error_of([&] { source.apply(parse_example(features)); });
  };
  EXPECT_THAT(error({}), HasSubstr("at least one feature"));
  EXPECT_THAT(error({{"a", FixedLenFeature({}, float64)}}), HasSubstr("float32, int64 and string"));
  EXPECT_THAT(error({{"a", FixedLenFeature({kUnknown}, float32)}}), HasSubstr("a known shape"));
  EXPECT_THAT(error({{"a", FixedLenFeature({1, 1, 1, 1, 1, 1, 1, 1}, float32)}}), "");
  EXPECT_THAT(error({{"a", FixedLenSequenceFeature({1, 1, 1, 1, 1, 1, 1, 1}, float32)}}), HasSubstr("8 axes"));
  EXPECT_THAT(error({{"a", FixedLenFeature({}, float32)}, {"a", FixedLenFeature({}, int64)}}), HasSubstr("once"));
  EXPECT_THAT(error({{"a", FixedLenFeature({}, int64, Tensor::scalar(1))}}),
              HasSubstr("a default of the feature's type"));
  EXPECT_THAT(error({{"a", FixedLenFeature({2}, float32, Tensor::of<float>({1, 2, 3}, {3}))}}), HasSubstr("a default"));
  EXPECT_THAT(error_of([] {
                range(3).apply(parse_example({{"a", FixedLenFeature({}, int64)}}));
              }),
              HasSubstr("strings or batches of strings are expected"));
  EXPECT_THAT(error_of([&] {
                source.batch(1).batch(1).apply(parse_example({{"a", FixedLenFeature({}, int64)}}));
              }),
              HasSubstr("strings or batches of strings are expected"));
}

// Cut anywhere or with any byte changed: an error or an element, and nothing outside the bytes is read.
TEST(ParseExample, DamagedBytesAreAnErrorOrAnElement) {
  const std::string whole = example({{"f", Tensor::of<float>({1, 2, 3}, {3})},
                                     {"i", Tensor::of<std::int64_t>({1, 1 << 20, -1}, {3})},
                                     {"s", Tensor::of_strings({"ab", "", "c"}, {3})}});
  const ExampleFeatures features{{"f", FixedLenFeature({3}, float32)},
                                 {"i", FixedLenFeature({3}, int64)},
                                 {"s", FixedLenSequenceFeature({}, string)}};
  for (std::size_t length = 0; length < whole.size(); ++length) {
    // Memory of exactly this size, for tools that watch its end.
    EXPECT_THROW(parsed(std::string(whole, 0, length), features), Error) << length;
  }
  int errors = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      errors += error_of([&] { parsed(changed, features); }).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(errors, static_cast<int>(whole.size()));
  // A length far beyond the end.
  EXPECT_THAT(error_of([&] { parsed("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", features); }), HasSubstr("DataLoss"));
  EXPECT_THAT(error_of([&] { parsed(std::string(20, '\xff'), features); }), HasSubstr("DataLoss"));
}

// What the Example before looked like decides nothing but the time it takes.
TEST(ParseExample, ExamplesAreReadByThemselves) {
  const auto whole = [](std::int64_t i, bool turned) {
    std::vector<std::pair<std::string, Tensor>> features{{"f", Tensor::full({3}, static_cast<double>(i))},
                                                         {"i", Tensor::of<std::int64_t>({i, 1, 2}, {3})}};
    if (turned) std::swap(features[0], features[1]);
    return example(features);
  };
  const ExampleFeatures features{{"f", FixedLenFeature({3}, float32)}, {"i", FixedLenFeature({3}, int64)}};
  const std::string first = whole(5, false);
  std::vector<std::string> seconds{whole(6, true), whole(700, false), example({{"i", Tensor::full({3}, 1, int64)}})};
  for (std::size_t at = 0; at < first.size(); ++at) {
    seconds.push_back(first.substr(0, at));
    for (int bit = 0; bit < 8; ++bit) {
      seconds.push_back(first);
      seconds.back()[at] = static_cast<char>(first[at] ^ (1 << bit));
    }
  }
  for (const std::string& second : seconds) {
    auto iterator = strings({first, second}).batch(2).apply(parse_example(features)).make_iterator();
    Tensors both, alone;
    const std::string error_alone = error_of([&] { alone = parsed(second, features); });
    ASSERT_EQ(error_of([&] { iterator->next(both); }).empty(), error_alone.empty()) << error_alone;
    if (!error_alone.empty()) continue;
    for (const std::size_t leaf : {0u, 1u}) {
      ASSERT_EQ(std::memcmp(static_cast<const char*>(both[leaf].raw()) + alone[leaf].bytes(), alone[leaf].raw(),
                            alone[leaf].bytes()),
                0);
    }
  }
}

// 0, 1, ... each an Example of its number and 200 floats; every `period`-th has no number.
std::vector<std::string> numbered(int count, int period = 0) {
  std::vector<std::string> result;
  for (int i = 0; i < count; ++i) {
    std::vector<std::pair<std::string, Tensor>> features{{"x", Tensor::full({200}, i)}};
    if (period == 0 || i % period != 0) features.emplace_back("n", Tensor::of<std::int64_t>({i}, {1}));
    result.push_back(example(features));
  }
  return result;
}
DatasetTransform number_and_floats() {
  return parse_example({{"n", FixedLenFeature({}, int64)}, {"x", FixedLenFeature({200}, float32)}});
}

TEST(ParseExample, AllWaysGiveTheSameElements) {
  const std::vector<std::string> examples = numbered(300);
  const Dataset expected = strings(examples).apply(number_and_floats());
  const Dataset others[] = {strings(examples).batch(64).apply(number_and_floats()),
                            streamed_strings(examples).batch(64).apply(number_and_floats()),
                            streamed_strings(examples).batch(64).prefetch(2).apply(number_and_floats()),
                            strings(examples).apply(number_and_floats()).batch(64),
                            streamed_strings(examples).apply(number_and_floats()).batch(64)};
  for (const Dataset& other : others) {
    for (const std::size_t leaf : {0u, 1u}) {
      std::vector<std::int64_t> flat, flat_expected;
      for (const auto& batch : all(other, leaf)) flat.insert(flat.end(), batch.begin(), batch.end());
      for (const auto& element : all(expected, leaf))
        flat_expected.insert(flat_expected.end(), element.begin(), element.end());
      EXPECT_EQ(flat, flat_expected);
    }
    EXPECT_EQ(first_of(other)[1].shape(), Shape({64, 200}));
  }
}

TEST(ParseExample, StaysAlignedPastExamplesThatFail) {
  for (const Dataset& source : {strings(numbered(20, 6)), streamed_strings(numbered(20, 6))}) {
    auto iterator = source.apply(number_and_floats()).make_iterator();
    auto of_batches = source.batch(4).apply(number_and_floats()).make_iterator();
    Tensors element;
    for (std::int64_t i = 0; i < 20; ++i) {
      const std::string error = error_of([&] { iterator->next(element); });
      if (i % 6 != 0) {
        EXPECT_EQ(element[0].item<std::int64_t>(), i);
      }
      EXPECT_EQ(error.empty(), i % 6 != 0);
      if (!error.empty()) {
        EXPECT_THAT(error, HasSubstr("feature=n, row=0, element=" + std::to_string(i)));
      }
    }
    EXPECT_FALSE(iterator->next(element));
    // Only the batch that begins with 8 is whole.
    for (std::int64_t first = 0; first < 20; first += 4) {
      const std::string error = error_of([&] { of_batches->next(element); });
      EXPECT_EQ(error.empty(), first == 8) << first;
      if (first == 4) {
        EXPECT_THAT(error, HasSubstr("row=2, element=4"));
      }
      if (first == 8) {
        EXPECT_THAT(element[0].to_vector<std::int64_t>(), ElementsAre(8, 9, 10, 11));
      }
    }
    EXPECT_FALSE(of_batches->next(element));
  }
}

TEST(ParseExample, ADamagedRecordTakesItsBatchAlone) {
  const TemporaryFolder folder;
  TFRecordWriter writer(folder.file("a"));
  for (const std::string& bytes : numbered(20)) writer.write(bytes);
  writer.close();
  std::fstream file(folder.file("a"), std::ios::in | std::ios::out | std::ios::binary);
  const auto record = static_cast<std::streamoff>(16 + numbered(1)[0].size());
  file.seekp(5 * record + 100);
  file.put('!');
  file.close();
  auto iterator = tf_records({folder.file("a")}).batch(4).apply(number_and_floats()).make_iterator();
  Tensors element;
  for (std::int64_t first = 0; first < 20; first += 4) {
    const std::string error = error_of([&] { iterator->next(element); });
    EXPECT_EQ(error.empty(), first != 4) << error;
    if (first != 4) {
      EXPECT_EQ(element[0].to_vector<std::int64_t>()[0], first);
    }
  }
  EXPECT_FALSE(iterator->next(element));
}

TEST(ParseExample, AllocatesNothingOnceItRuns) {
  if (!cohort::test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  const TemporaryFolder folder;
  TFRecordWriter writer(folder.file("a"));
  for (const std::string& bytes : numbered(2000)) writer.write(bytes);
  writer.close();
  for (const bool batched : {true, false}) {
    const Dataset source = tf_records({folder.file("a")});
    auto iterator = (batched ? source.batch(100) : source).apply(number_and_floats()).make_iterator();
    Tensors element;
    // Numbers from 128 on make longer Examples: a pass over a few of them makes room.
    for (int i = 0; i < (batched ? 3 : 300); ++i) ASSERT_TRUE(iterator->next(element));
    const std::uint64_t before = cohort::test::allocations();
    while (iterator->next(element)) {
    }
    EXPECT_EQ(cohort::test::allocations() - before, 0u) << batched;
  }
}

TEST(ParseExample, ElementsThatAreKeptStayAsTheyWere) {
  auto iterator = streamed_strings(numbered(10)).batch(3).apply(number_and_floats()).make_iterator();
  std::vector<Tensor> kept;
  Tensors element;
  while (iterator->next(element)) kept.push_back(element[0]);
  ASSERT_EQ(kept.size(), 4u);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].to_vector<std::int64_t>()[0], static_cast<std::int64_t>(3 * i));
  }
}

const PositionsCase kParsePositions[] = {
    {"of_rows", [] { return strings(numbered(11)).apply(number_and_floats()); }},
    {"of_a_stream", [] { return streamed_strings(numbered(11)).apply(number_and_floats()); }},
    {"of_batches", [] { return strings(numbered(11)).shuffle(11, {.seed = 2}).batch(3).apply(number_and_floats()); }},
    {"of_streamed_batches", [] { return streamed_strings(numbered(11)).batch(3).apply(number_and_floats()); }},
};
INSTANTIATE_TEST_SUITE_P(ParseExample, Positions, testing::ValuesIn(kParsePositions), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
