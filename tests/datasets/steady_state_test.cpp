#include <gtest/gtest.h>

#include "cohort/ops/math.h"
#include "tests/datasets/elements.h"
#include "tests/support/allocations.h"

namespace cohort::datasets::test {
namespace {

struct SteadyCase {
  const char* name;
  Dataset (*make)();
  int first = 1;  // elements made before nothing may be allocated any more
};

class SteadyState : public testing::TestWithParam<SteadyCase> {};

TEST_P(SteadyState, AllocatesNothing) {
  if (!cohort::test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  auto iterator = GetParam().make().make_iterator();
  Tensors element;
  for (int i = 0; i < GetParam().first; ++i) {
    if (!iterator->next(element)) iterator->rewind();
  }
  const std::uint64_t before = cohort::test::allocations();
  for (int epoch = 0; epoch < 5; ++epoch) {
    while (iterator->next(element)) {
    }
    iterator->rewind();
  }
  EXPECT_EQ(cohort::test::allocations() - before, 0u);
}

// Memory is used again, but not as long as somebody has the element.
TEST_P(SteadyState, ElementsThatAreKeptStayAsTheyWere) {
  const Dataset data = GetParam().make();
  auto iterator = data.make_iterator();
  std::vector<Tensors> kept;
  std::vector<std::vector<std::vector<double>>> values;
  Tensors element;
  for (int epoch = 0; epoch < 2; ++epoch) {
    while (iterator->next(element)) {
      kept.push_back(element);
      values.emplace_back();
      for (const Tensor& leaf : element) values.back().push_back(leaf.to_vector<double>());
    }
    iterator->rewind();
  }
  ASSERT_GT(kept.size(), 2u);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    for (std::size_t leaf = 0; leaf < kept[i].size(); ++leaf) {
      ASSERT_EQ(kept[i][leaf].to_vector<double>(), values[i][leaf]) << "element " << i;
    }
  }
}

Dataset rows_that_differ(std::int64_t width) {
  std::vector<float> values(static_cast<std::size_t>(640 * width));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return from_tensor_slices(Tensor::of(values, {640, width}), Tensor::full({640, 1}, 1));
}
Dataset floats() { return rows_that_differ(10); }
Dataset wide() { return rows_that_differ(1000); }

Dataset scaled(const Dataset& data, std::int64_t calls) {
  return data.map([](Tensor x, Tensor y) { return std::tuple(x / 255.0, y); }, {.num_parallel_calls = calls});
}

const SteadyCase kSteadyCases[] = {
    {"rows", [] { return floats(); }},
    {"batches", [] { return floats().batch(64); }},
    {"shuffled_batches", [] { return floats().shuffle(640).batch(64); }},
    {"a_smaller_last_batch", [] { return floats().shuffle(640).batch(96); }},
    {"shuffled_elements", [] { return range(100).shuffle(20).batch(7); }},
    {"cached_and_prefetched", [] { return floats().batch(64).cache().prefetch(4); }, 11},
    {"prefetched", [] { return floats().shuffle(640).batch(64).prefetch(4); }},
    {"prefetched_by_a_thread", [] { return wide().shuffle(640).batch(64).prefetch(4); }},
    {"prefetched_with_a_smaller_last_batch", [] { return wide().shuffle(640).batch(96).prefetch(4); }},
    {"prefetched_rows", [] { return floats().prefetch(4); }},
    {"the_usual_chain", [] { return floats().shard(2, 1).shuffle(100).repeat(3).batch(32).prefetch(2); }},
    {"selections", [] { return range(200).skip(3).shard(2, 1).take(50).repeat(2).enumerate(); }},
    {"mapped", [] { return scaled(floats().shuffle(640).batch(64), 0); }},
    {"mapped_elements", [] { return scaled(floats().shuffle(640), 0).batch(64); }},
    {"mapped_in_parallel", [] { return scaled(wide().shuffle(640).batch(64), 4); }},
    {"mapped_in_parallel_and_prefetched", [] { return scaled(wide().shuffle(640).batch(64), 4).prefetch(3); }},
    {"mapped_elements_in_parallel", [] { return scaled(floats().shuffle(640), 16).batch(64).prefetch(2); }},
};

INSTANTIATE_TEST_SUITE_P(Datasets, SteadyState, testing::ValuesIn(kSteadyCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace cohort::datasets::test
