#include <gtest/gtest.h>

#include "tests/datasets/positions.h"

namespace cohort::datasets::test {
namespace {

TEST_P(Positions, RestoresExactlyAtEveryElement) {
  const Dataset dataset = GetParam().make();
  auto iterator = dataset.make_iterator();
  std::vector<std::string> states{iterator->save()};
  std::vector<std::vector<std::int64_t>> elements;
  // Two epochs, so that what changes from epoch to epoch is part of the position.
  std::vector<std::size_t> epoch_ends;
  Tensors element;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int i = 0; i < 40 && iterator->next(element); ++i) {
      elements.push_back(element[0].to_vector<std::int64_t>());
      states.push_back(iterator->save());
    }
    epoch_ends.push_back(elements.size());
    if (epoch == 0) {
      iterator->rewind();
      states.back() = iterator->save();
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
      auto other = where.make_iterator();
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
  EXPECT_EQ(rest(*travelled.make_iterator(), 0, 40), rest(*dataset.make_iterator(), 0, 40));
  EXPECT_EQ(serialize(travelled), serialize(dataset));
}

TEST_P(Positions, TheNumberOfElementsIsTheCardinality) {
  const Dataset dataset = GetParam().make();
  if (dataset.cardinality() >= 0) {
    EXPECT_EQ(static_cast<std::int64_t>(all(dataset).size()), dataset.cardinality());
  }
}

TEST_P(Positions, RefusesTheStateOfAnotherDataset) {
  auto iterator = GetParam().make().make_iterator();
  EXPECT_THROW(iterator->restore(""), Error);
  EXPECT_THROW(iterator->restore("?"), Error);
  EXPECT_THROW(iterator->restore(iterator->save() + "x"), Error);
  const std::string state = iterator->save();
  for (std::size_t length = 0; length < state.size(); ++length) {
    EXPECT_THROW(iterator->restore(state.substr(0, length)), Error) << length;
  }
}

const PositionsCase kTheUsualChainCases[] = {
    {"of_a_pipeline", [] { return rows(23).shard(2, 1).shuffle(5, {.seed = 5}).repeat().batch(4).prefetch(2); }},
};
INSTANTIATE_TEST_SUITE_P(TheUsualChain, Positions, testing::ValuesIn(kTheUsualChainCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
