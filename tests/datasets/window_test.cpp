#include "cohort/datasets/transforms/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cohort/ops/ops.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/ragged_source.h"
#include "tests/datasets/skipping.h"
#include "tests/support/allocations.h"

namespace cohort::datasets::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

using Windows = std::vector<std::vector<std::int64_t>>;

Dataset windows(const Dataset& data, std::int64_t size, WindowOptions options = {}) {
  return data.apply(window(size, options));
}
// Rows, a range and a stream of the same numbers.
std::vector<Dataset> seven() { return {rows(7), range(7), damaged_source(7, -1), damaged_indexed_source(7, -1)}; }

// tf.data's own examples.
TEST(Window, GivesTheWindowsOfTfData) {
  for (const Dataset& data : seven()) {
    EXPECT_EQ(all(windows(data, 3)), (Windows{{0, 1, 2}, {3, 4, 5}, {6}}));
    EXPECT_EQ(all(windows(data, 3, {.drop_remainder = true})), (Windows{{0, 1, 2}, {3, 4, 5}}));
    EXPECT_EQ(all(windows(data, 3, {.shift = 2})), (Windows{{0, 1, 2}, {2, 3, 4}, {4, 5, 6}, {6}}));
    EXPECT_EQ(all(windows(data, 3, {.shift = 1, .drop_remainder = true})),
              (Windows{{0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 5}, {4, 5, 6}}));
    EXPECT_EQ(all(windows(data, 3, {.shift = 1, .stride = 2, .drop_remainder = true})),
              (Windows{{0, 2, 4}, {1, 3, 5}, {2, 4, 6}}));
    EXPECT_EQ(all(windows(data, 3, {.shift = 1, .stride = 2})),
              (Windows{{0, 2, 4}, {1, 3, 5}, {2, 4, 6}, {3, 5}, {4, 6}, {5}, {6}}));
    EXPECT_EQ(all(windows(data, 2, {.shift = 5, .stride = 2})), (Windows{{0, 2}, {5}}));
    EXPECT_EQ(all(windows(data, 1, {.shift = 3})), (Windows{{0}, {3}, {6}}));
    EXPECT_EQ(all(windows(data, 20, {.shift = 6})), (Windows{{0, 1, 2, 3, 4, 5, 6}, {6}}));
    EXPECT_TRUE(all(windows(data, 8, {.shift = 1, .drop_remainder = true})).empty());
    EXPECT_EQ(to_string(windows(data, 3).element_spec()), "int64(None,)");
    EXPECT_EQ(to_string(windows(data, 3, {.drop_remainder = true}).element_spec()), "int64(3,)");
  }
}

TEST(Window, KnowsHowManyThereAre) {
  for (const Dataset& data : seven()) {
    for (std::int64_t size = 1; size < 9; ++size) {
      for (std::int64_t shift = 1; shift < 9; ++shift) {
        for (std::int64_t stride = 1; stride < 4; ++stride) {
          for (const bool drop : {false, true}) {
            const Dataset all_of_them = windows(data, size, {shift, stride, drop});
            ASSERT_EQ(static_cast<std::int64_t>(all(all_of_them).size()), all_of_them.cardinality())
                << size << " " << shift << " " << stride << " " << drop;
          }
        }
      }
    }
  }
  EXPECT_EQ(windows(range(7).repeat(), 3).cardinality(), kInfiniteCardinality);
}

TEST(Window, OfRowsInOrderIsAView) {
  const Tensor x = Tensor::of<float>({0, 1, 2, 3, 4, 5, 6, 7}, {4, 2}, cpu());
  auto iterator = windows(from_tensor_slices(x), 2, {.shift = 1}).make_iterator();
  Tensors element;
  iterator->next(element);
  iterator->next(element);
  EXPECT_EQ(element[0].raw(), x.rows(1, 2).raw());
  EXPECT_EQ(element[0].shape(), Shape({2, 2}));
}

TEST(Window, ComputesOnceWhatWindowsShare) {
  for (const Dataset& source : {damaged_source(100, -1), damaged_indexed_source(100, -1)}) {
    const std::int64_t before = elements_read();
    EXPECT_EQ(all(windows(source.map([](Tensor x) { return x * std::int64_t{2}; }), 10, {.shift = 1})).size(), 100u);
    EXPECT_EQ(elements_read() - before, 100);
  }
}

TEST(Window, OfRowsCanBeShuffledByNumber) {
  const Dataset shuffled = windows(rows(50), 5, {.shift = 1, .drop_remainder = true}).shuffle(46, {.seed = 1});
  std::set<std::int64_t> starts;
  for (const auto& each : all(shuffled)) {
    for (std::size_t i = 0; i < each.size(); ++i) EXPECT_EQ(each[i], each[0] + static_cast<std::int64_t>(i));
    starts.insert(each[0]);
  }
  EXPECT_EQ(starts.size(), 46u);
  EXPECT_TRUE(shuffled.stage().is_indexed());
}

TEST(Window, FailsWhereAnElementOfItFails) {
  for (const Dataset& data : {damaged_source(6, 3), damaged_indexed_source(6, 3)}) {
    EXPECT_EQ(rest_with_errors(*windows(data, 2, {.shift = 1}).make_iterator()),
              (Windows{{INT64_MIN}, {1, 2}, {INT64_MIN}, {INT64_MIN}, {4, 5}, {5}}));
    EXPECT_EQ(rest_with_errors(*windows(data, 2).make_iterator()), (Windows{{INT64_MIN}, {INT64_MIN}, {4, 5}}));
  }
}

TEST(Window, RefusesShapesThatDifferAndWrongArguments) {
  EXPECT_THAT(
      [] {
        all(windows(ragged_source({2, 1}), 2));
      },
      ThrowsMessage<Error>(HasSubstr("Dataset.window: all elements that are put together must have the same "
                                     "shape. Received: first=int64(2,), other=int64(1,), row=1")));
  EXPECT_THAT([] { windows(range(3), 0); }, ThrowsMessage<Error>(HasSubstr("Received: size=0, shift=0, stride=1")));
  EXPECT_THROW(windows(range(3), 2, {.shift = -1}), Error);
  EXPECT_THROW(windows(range(3), 2, {.stride = 0}), Error);
}

TEST(Window, SkipsAsItWalks) {
  for (const Dataset& data : {damaged_source(11, 4), damaged_indexed_source(11, 4), rows(11)}) {
    for (const bool drop : {false, true}) {
      for (const WindowOptions& options : {WindowOptions{0, 1, drop},
                                           {1, 1, drop},
                                           {2, 1, drop},
                                           {5, 1, drop},
                                           {1, 2, drop},
                                           {4, 3, drop},
                                           {9, 2, drop}}) {
        expect_passing_by_equals_walking(windows(data, 3, options));
        expect_passing_by_equals_walking(windows(data.prefetch(2), 3, options));
      }
    }
  }
}

TEST(Window, AllocatesNothingInASteadyState) {
  if (!cohort::test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  for (const Dataset& data :
       {windows(range(40), 4, {.shift = 1}), windows(range(40).enumerate(), 4, {.shift = 1}), windows(rows(40), 6)}) {
    auto iterator = data.make_iterator();
    Tensors element;
    for (int epoch = 0; epoch < 2; ++epoch) {
      while (iterator->next(element)) {
      }
      iterator->rewind();
    }
    const std::uint64_t before = cohort::test::allocations();
    for (int epoch = 0; epoch < 5; ++epoch) {
      while (iterator->next(element)) {
      }
      iterator->rewind();
    }
    EXPECT_EQ(cohort::test::allocations() - before, 0u);
  }
}

const PositionsCase kWindowCases[] = {
    {"apart", [] { return windows(rows(11), 3); }},
    {"apart_stream", [] { return windows(damaged_source(11, -1), 3, {.shift = 4, .stride = 2}); }},
    {"overlapping_rows", [] { return windows(rows(11), 4, {.shift = 2}); }},
    {"overlapping_stream", [] { return windows(damaged_source(11, -1), 4, {.shift = 2}); }},
    {"overlapping_with_stride", [] { return windows(damaged_source(11, -1), 3, {.shift = 1, .stride = 2}); }},
    {"whole_only", [] { return windows(damaged_source(11, -1), 4, {.shift = 3, .drop_remainder = true}); }},
    {"of_a_shuffle", [] { return windows(rows(11).shuffle(4, {.seed = 3}), 3, {.shift = 1}).repeat(2); }},
    {"of_a_pipeline",
     [] {
       return windows(rows(13).shuffle(13, {.seed = 3}).prefetch(2), 3, {.shift = 2})
           .batch(2, {.drop_remainder = true});
     }},
};
INSTANTIATE_TEST_SUITE_P(Window, Positions, testing::ValuesIn(kWindowCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
