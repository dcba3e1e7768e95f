#include <gtest/gtest.h>

#include <cstring>

#include "cohort/core/random.h"
#include "cohort/ops/ops.h"
#include "tests/datasets/elements.h"

namespace cohort::datasets::test {
namespace {

constexpr std::int64_t kRows = 400, kWidth = 6;

// Bytes, floats and strings, in a random order that is the same in every pass.
Dataset mixed_rows() {
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats;
  std::vector<std::string> strings;
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kWidth; ++j) bytes.push_back(static_cast<std::uint8_t>(7 * i + j));
    floats.push_back(static_cast<float>(i));
    strings.push_back(std::to_string(i));
  }
  const Element columns = Element::tuple({Tensor::of(bytes, {kRows, kWidth}), Tensor::of(floats, {kRows}),
                                          Tensor::of_strings(std::move(strings), {kRows})});
  return from_tensor_slices(columns).shuffle(kRows, {.seed = 3, .reshuffle_each_iteration = false});
}

// The same draws each time: functions are traced after the seed was set.
Dataset mirrored_at_random(std::int64_t calls) {
  set_random_seed(11);
  const auto f = [](const Element& element) {
    const Tensor x = element[0].leaf(), y = element[1].leaf();
    const Tensor turned = ops::where(ops::random_uniform({}) < 0.5, ops::flip(x, {-1}), x);
    return Element::tuple({ops::cast(turned, DType::Float32) / 255.0, y + ops::random_uniform({2})});
  };
  return mixed_rows().map(f, {.num_parallel_calls = calls});
}

using Bytes = std::vector<std::string>;

// The bytes of each leaf, all elements of a pass one behind the other.
Bytes bytes_of_pass(DatasetIterator& iterator) {
  Bytes bytes(2);
  for (Tensors element; iterator.next(element);) {
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor host = element[i].to_host();
      bytes[i].append(static_cast<const char*>(host.raw()), host.bytes());
    }
  }
  return bytes;
}

// Batches have their rows computed in place, many at a time; elements by themselves are computed one by one.
TEST(MapRows, AreTheElementsToTheBit) {
  const auto one_by_one = mirrored_at_random(0).make_iterator();
  std::vector<Bytes> expected;
  for (int pass = 0; pass < 3; ++pass, one_by_one->rewind()) expected.push_back(bytes_of_pass(*one_by_one));
  ASSERT_EQ(expected[0][0].size(), kRows * kWidth * sizeof(float));
  ASSERT_EQ(expected[0][1].size(), kRows * 2 * sizeof(float));
  // Each pass draws anew.
  EXPECT_NE(expected[0], expected[1]);
  for (const std::int64_t calls : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{8}, kAutotune}) {
    for (const std::int64_t batch : {std::int64_t{1}, std::int64_t{7}, std::int64_t{63}, kRows}) {
      const auto iterator = mirrored_at_random(calls).batch(batch).make_iterator();
      for (int pass = 0; pass < 3; ++pass, iterator->rewind()) {
        ASSERT_EQ(bytes_of_pass(*iterator), expected[static_cast<std::size_t>(pass)]) << calls << " " << batch;
      }
    }
  }
}

// A batch is one element to the map behind it, which the consumer helps to compute.
TEST(MapRows, OfBatchesComeInOrder) {
  const auto plus_one = [](const Tensor& x) { return x + 1; };
  std::vector<std::vector<std::int64_t>> expected;
  for (std::int64_t i = 0; i < 3000; i += 3) expected.push_back({i + 1, i + 2, i + 3});
  for (const Dataset& source : rows_and_range(3000)) {
    for (const std::int64_t calls : {std::int64_t{1}, std::int64_t{2}, std::int64_t{8}, kAutotune}) {
      EXPECT_EQ(all(source.batch(3).map(plus_one, {.num_parallel_calls = calls})), expected) << calls;
    }
  }
}

}  // namespace
}  // namespace cohort::datasets::test
