#include "cohort/datasets/transforms/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/datasets/transforms/filter.h"
#include "cohort/ops/math.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/stage_checks.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Dataset stream_of(const Dataset& data) { return data.prefetch(1); }
Dataset of_unknown_length(const Dataset& data) {
  return data.apply(filter([](Tensor x) { return ops::less(x, 1000.0); }));
}

TEST(Zip, GivesTuplesUntilTheShortestEnds) {
  for (const Dataset& three : {rows(3), range(3), stream_of(range(3))}) {
    const Dataset data = zip({three, range(10, 15), rows(9).batch(2)});
    EXPECT_EQ(to_string(data.element_spec()), "(int64(), int64(), int64(None,))");
    EXPECT_EQ(data.cardinality(), 3);
    EXPECT_THAT(all(data, 0), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
    EXPECT_THAT(all(data, 1), ElementsAre(ElementsAre(10), ElementsAre(11), ElementsAre(12)));
    EXPECT_THAT(all(data, 2), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5)));
    EXPECT_THAT(numbers(zip({range(10, 15), three})), ElementsAre(10, 11, 12));
    EXPECT_TRUE(all(zip({three, range(0)})).empty());
  }
}

TEST(Zip, GivesDictsByName) {
  const Dataset data = zip({{"image", rows(3)}, {"pair", range(3).enumerate()}});
  EXPECT_EQ(to_string(data.element_spec()), "{image: int64(), pair: (int64(), int64())}");
  EXPECT_EQ(to_string(parse_dataset(serialize(data)).element_spec()), to_string(data.element_spec()));
  EXPECT_THAT(all(data, 2), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
}

TEST(Zip, CardinalityIsTheLeastUnlessOneIsUnknown) {
  EXPECT_EQ(zip({range(3), range(5).repeat()}).cardinality(), 3);
  EXPECT_EQ(zip({range(3).repeat(), range(5).repeat()}).cardinality(), kInfiniteCardinality);
  EXPECT_EQ(zip({range(3), of_unknown_length(range(5))}).cardinality(), kUnknownCardinality);
  EXPECT_EQ(zip({range(3).repeat(), of_unknown_length(range(5))}).cardinality(), kUnknownCardinality);
}

TEST(Zip, RefusesNoneAndNamesThatDoNotFit) {
  EXPECT_THAT([] { zip(std::vector<Dataset>()); }, ThrowsMessage<Error>("Dataset.zip: at least one dataset is "
                                                                        "expected. Received: datasets=0."));
  EXPECT_THAT([] { zip({{"a", range(2)}, {"a", range(2)}}); }, ThrowsMessage<Error>(HasSubstr("none twice")));
  EXPECT_THROW(zip({range(2), Dataset()}), Error);
  EXPECT_THROW(Dataset::make("zip", {range(2)}, {{"names", std::vector<std::string>{"a", "b"}}}), Error);
}

TEST(Zip, KeyIsThatOfTheFirst) {
  for (const Dataset& first : {rows(9), stream_of(rows(9))}) {
    for (const Outcome& outcome : outcomes(*zip({first, range(9).shuffle(9, {.seed = 1})}).make_iterator())) {
      EXPECT_EQ(outcome.key, (ElementKey{0, static_cast<std::uint64_t>(outcome.leaves[0][0])}));
    }
  }
}

TEST(Zip, IsReadByNumber) {
  const Dataset data = zip({damaged_indexed_source(1000, -1), damaged_indexed_source(900, -1)});
  ASSERT_TRUE(data.stage().is_indexed());
  const auto iterator = data.shuffle(900, {.seed = 1}).batch(10).make_iterator();
  const std::int64_t before = elements_read();
  EXPECT_EQ(iterator->skip(80), 80u);
  EXPECT_EQ(elements_read() - before, 0);
  const std::string state = iterator->save();
  const auto second = rest(*iterator, 1);
  EXPECT_EQ(elements_read() - before, 200);
  iterator->restore(state);
  EXPECT_EQ(rest(*iterator, 0), second) << "shuffled together";
  // Rows in memory beside others, more than are resolved at a time.
  const Dataset beside = zip({rows(300), range(300)}).shuffle(300, {.seed = 3, .reshuffle_each_iteration = false});
  EXPECT_EQ(all(beside.batch(150), 0), all(beside.batch(150), 1));
  EXPECT_EQ(all(beside.batch(150)).size(), 2u);
}

TEST(Zip, StaysAlignedWhereOneFails) {
  for (const Dataset& source : {damaged_source(7, 3), damaged_indexed_source(7, 3)}) {
    for (const Dataset& data : {zip({source, range(9)}), zip({range(9), source}), zip({source, source})}) {
      EXPECT_THAT(numbers_or_errors(*data.make_iterator()), ElementsAre(-1, 1, 2, -1, 4, 5, -1));
      for (const Outcome& outcome : outcomes(*data.make_iterator())) {
        if (outcome.failed) continue;
        EXPECT_EQ(outcome.leaves[0], outcome.leaves[1]);
      }
      expect_skip_equals_walking(data);
      expect_restores_anywhere(data);
    }
    EXPECT_THAT(numbers_or_errors(*zip({source, range(6)}).make_iterator()), ElementsAre(-1, 1, 2, -1, 4, 5))
        << "an error behind the end is none";
  }
}

TEST(Zip, SkipsWhatWalkingWouldGive) {
  for (const Dataset& source : {rows(5), range(5), stream_of(range(5)), of_unknown_length(range(5))}) {
    expect_skip_equals_walking(zip({source, range(7)}));
    expect_skip_equals_walking(zip({range(7).repeat(), source}));
    expect_skip_equals_walking(zip({stream_of(range(7)).repeat(), source}));
    expect_skip_equals_walking(zip({source, range(4)}).batch(3));
    expect_restores_anywhere(zip({source.shuffle(9, {.seed = 1}), range(7).shuffle(3, {.seed = 1})}));
  }
  const auto iterator = zip({stream_of(range(7)).repeat(), stream_of(range(5))}).make_iterator();
  EXPECT_EQ(iterator->skip(UINT64_MAX), 5u) << "one that never ends is not walked for ever";
}

TEST(Zip, AsksForNoMemoryInASteadyState) {
  expect_a_steady_state(zip({wide_rows(20), range(30)}));
  expect_a_steady_state(zip({range(30), stream_of(range(30))}));
  expect_a_steady_state(zip({wide_rows(50), range(50)}).shuffle(50, {.seed = 1}).batch(8));
}

const PositionsCase kZipCases[] = {
    {"rows",
     [] {
       return zip({rows(5), range(9)});
     }},
    {"streamed",
     [] {
       return zip({stream_of(range(8)), rows(6)});
     }},
    {"shuffled",
     [] {
       return zip({rows(5), range(9).repeat()}).shuffle(9, {.seed = 5});
     }},
    {"shuffled_before",
     [] {
       return zip({rows(9).shuffle(9, {.seed = 1}), range(7).shuffle(2, {.seed = 5})}).batch(2);
     }},
    {"named",
     [] {
       return zip({{"x", rows(5)}, {"y", range(9)}});
     }},
};
INSTANTIATE_TEST_SUITE_P(Zip, Positions, testing::ValuesIn(kZipCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
