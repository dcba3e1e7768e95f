// Every transform, saved and restored at every position, and walked again after rewind().
#include <gtest/gtest.h>

#include "cohort/ops/math.h"
#include "tests/datasets/walking.h"

namespace cohort::datasets::test {
namespace {

struct Case {
  const char* name;
  Dataset (*make)();
};

class Positions : public testing::TestWithParam<Case> {};

TEST_P(Positions, RestoresExactlyAtEveryElement) {
  const Dataset dataset = GetParam().make();
  auto walker = dataset.walk();
  std::vector<std::string> states{walker->save()};
  std::vector<std::vector<std::int64_t>> elements;
  // Two epochs, so that what changes from epoch to epoch is part of the position.
  std::vector<std::size_t> epoch_ends;
  Tensors element;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int i = 0; i < 40 && walker->next(element); ++i) {
      elements.push_back(element[0].to_vector<std::int64_t>());
      states.push_back(walker->save());
    }
    epoch_ends.push_back(elements.size());
    if (epoch == 0) {
      walker->rewind();
      states.back() = walker->save();
    }
  }
  ASSERT_FALSE(elements.empty());
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::size_t end = i < epoch_ends[0] ? epoch_ends[0] : epoch_ends[1];
    const auto expected = std::vector(elements.begin() + static_cast<std::ptrdiff_t>(i),
                                      elements.begin() + static_cast<std::ptrdiff_t>(end));
    const std::size_t most = dataset.cardinality() < 0 ? end - i : SIZE_MAX;
    // Here, where the iterator may have stood elsewhere; and in another process, which has cached nothing.
    for (const Dataset& where : {dataset, parse_dataset(serialize(dataset))}) {
      auto other = where.walk();
      other->next(element);
      other->restore(states[i]);
      EXPECT_EQ(rest(*other, 0, most), expected) << "state " << i;
    }
  }
}

TEST_P(Positions, ATravelledDatasetGivesTheSameElements) {
  const Dataset dataset = GetParam().make();
  const Dataset travelled = parse_dataset(serialize(dataset));
  EXPECT_EQ(to_string(travelled.element_spec()), to_string(dataset.element_spec()));
  EXPECT_EQ(travelled.cardinality(), dataset.cardinality());
  EXPECT_EQ(rest(*travelled.walk(), 0, 40), rest(*dataset.walk(), 0, 40));
  EXPECT_EQ(serialize(travelled), serialize(dataset));
}

TEST_P(Positions, TheNumberOfElementsIsTheCardinality) {
  const Dataset dataset = GetParam().make();
  if (dataset.cardinality() >= 0) {
    EXPECT_EQ(static_cast<std::int64_t>(all(dataset).size()), dataset.cardinality());
  }
}

TEST_P(Positions, RefusesTheStateOfAnotherDataset) {
  auto walker = GetParam().make().walk();
  EXPECT_THROW(walker->restore(""), Error);
  EXPECT_THROW(walker->restore("?"), Error);
  EXPECT_THROW(walker->restore(walker->save() + "x"), Error);
  const std::string state = walker->save();
  for (std::size_t length = 0; length < state.size(); ++length) {
    EXPECT_THROW(walker->restore(state.substr(0, length)), Error) << length;
  }
}

Dataset squares(const Dataset& input, MapOptions options) {
  return input.map([](Tensor x) { return ops::multiply(x, x); }, options);
}

const Case kCases[] = {
    {"rows", [] { return rows(7); }},
    {"range", [] { return range(3, 20, 4); }},
    {"take_rows", [] { return rows(7).take(4); }},
    {"take", [] { return range(7).take(4); }},
    {"skip_rows", [] { return rows(7).skip(4); }},
    {"skip", [] { return range(7).skip(4); }},
    {"shard_rows", [] { return rows(11).shard(3, 1); }},
    {"shard", [] { return range(11).shard(3, 2); }},
    {"repeat_rows", [] { return rows(4).repeat(3); }},
    {"repeat", [] { return range(4).repeat(3); }},
    {"repeat_for_ever", [] { return rows(4).repeat(); }},
    {"shuffle_rows", [] { return rows(13).shuffle(13, {.seed = 5}); }},
    {"shuffle_some_rows", [] { return rows(13).shuffle(4, {.seed = 5}); }},
    {"shuffle", [] { return range(13).shuffle(4, {.seed = 5}); }},
    {"shuffle_once", [] { return range(13).shuffle(4, {.seed = 5, .reshuffle_each_iteration = false}); }},
    {"shuffle_repeated", [] { return rows(5).repeat(3).shuffle(4, {.seed = 5}); }},
    {"repeat_shuffled", [] { return rows(5).shuffle(4, {.seed = 5}).repeat(3); }},
    {"batch_rows", [] { return rows(7).batch(3); }},
    {"batch", [] { return range(7).batch(3); }},
    {"batch_whole_only", [] { return range(7).batch(3, {.drop_remainder = true}); }},
    {"batch_shuffled", [] { return rows(11).shuffle(6, {.seed = 5}).batch(4); }},
    {"cache_rows", [] { return rows(7).shuffle(7, {.seed = 5}).cache(); }},
    {"cache", [] { return range(7).shuffle(7, {.seed = 5}).cache(); }},
    {"cache_batches", [] { return rows(9).batch(2).cache(); }},
    {"cache_repeated", [] { return range(5).cache().repeat(3); }},
    {"enumerate", [] { return rows(6).enumerate(); }},
    {"prefetch", [] { return range(9).prefetch(3); }},
    {"prefetch_one", [] { return range(9).prefetch(1); }},
    {"prefetch_nothing", [] { return range(9).prefetch(0); }},
    {"map", [] { return squares(range(9), {}); }},
    {"map_in_parallel", [] { return squares(range(9), {.num_parallel_calls = 4}); }},
    {"the_usual_chain", [] { return rows(23).shard(2, 1).shuffle(5, {.seed = 5}).repeat().batch(4).prefetch(2); }},
};

INSTANTIATE_TEST_SUITE_P(Datasets, Positions, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace cohort::datasets::test
