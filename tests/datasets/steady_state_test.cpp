#include <gtest/gtest.h>

#include "cohort/ops/math.h"
#include "tests/datasets/walking.h"
#include "tests/support/allocations.h"

namespace cohort::datasets::test {
namespace {

struct Case {
  const char* name;
  Dataset (*make)();
};

class SteadyState : public testing::TestWithParam<Case> {};

TEST_P(SteadyState, AllocatesNothing) {
  if (!cohort::test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  auto walker = GetParam().make().walk();
  Tensors element;
  const auto epoch = [&] {
    while (walker->next(element)) {
    }
    walker->rewind();
  };
  for (int i = 0; i < 3; ++i) epoch();
  EXPECT_TRUE(cohort::test::reaches_steady_state([&] {
    for (int i = 0; i < 3; ++i) epoch();
  }));
}

Dataset floats() { return from_tensor_slices(Tensor::full({640, 10}, 1), Tensor::full({640, 1}, 1)); }

const Case kCases[] = {
    {"rows", [] { return floats(); }},
    {"batches", [] { return floats().batch(64); }},
    {"shuffled_batches", [] { return floats().shuffle(640).batch(64); }},
    {"shuffled_elements", [] { return range(100).shuffle(20).batch(7); }},
    {"cached_and_prefetched", [] { return floats().batch(64).cache().prefetch(4); }},
    {"prefetched", [] { return floats().shuffle(640).batch(64).prefetch(4); }},
    {"the_usual_chain", [] { return floats().shard(2, 1).shuffle(100).repeat(3).batch(32).prefetch(2); }},
    {"selections", [] { return range(200).skip(3).shard(2, 1).take(50).repeat(2).enumerate(); }},
};

INSTANTIATE_TEST_SUITE_P(Datasets, SteadyState, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace cohort::datasets::test
