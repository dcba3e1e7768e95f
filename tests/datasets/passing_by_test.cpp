#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>

#include "cohort/ops/ops.h"
#include "cohort/ops/random_ops.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/elements.h"

namespace cohort::datasets::test {
namespace {

struct PassingCase {
  const char* name;
  Dataset (*make)(const Dataset& source);
};

Tensor one_more(Tensor x) { return x + std::int64_t{1}; }

const PassingCase kPassingCases[] = {
    {"the_source", [](const Dataset& source) { return source; }},
    {"take", [](const Dataset& source) { return source.take(17); }},
    {"skip", [](const Dataset& source) { return source.skip(4); }},
    {"skip_all", [](const Dataset& source) { return source.skip(40); }},
    {"shard", [](const Dataset& source) { return source.shard(3, 1); }},
    {"repeat", [](const Dataset& source) { return source.repeat(3); }},
    {"shuffle", [](const Dataset& source) { return source.shuffle(100, {.seed = 3}); }},
    {"small_shuffle", [](const Dataset& source) { return source.shuffle(5, {.seed = 3}); }},
    {"small_shuffle_repeated", [](const Dataset& source) { return source.shuffle(5, {.seed = 3}).repeat(2); }},
    {"map", [](const Dataset& source) { return source.map(one_more); }},
    {"parallel_map", [](const Dataset& source) { return source.map(one_more, {.num_parallel_calls = 4}); }},
    {"batch", [](const Dataset& source) { return source.batch(4); }},
    {"whole_batches", [](const Dataset& source) { return source.batch(4, {.drop_remainder = true}); }},
    {"batch_of_batches", [](const Dataset& source) { return source.take(20).batch(2).batch(3); }},
    {"mapped_batches", [](const Dataset& source) { return source.map(one_more).batch(4).shuffle(3, {.seed = 1}); }},
    {"enumerate", [](const Dataset& source) { return source.enumerate(); }},
    {"cache", [](const Dataset& source) { return source.map(one_more).cache().repeat(2); }},
    {"prefetch", [](const Dataset& source) { return source.prefetch(3); }},
    {"all",
     [](const Dataset& source) {
       return source.shuffle(7, {.seed = 2}).map(one_more, {.num_parallel_calls = 2}).batch(3).prefetch(2);
     }},
};

class PassingBy : public testing::TestWithParam<PassingCase> {};

TEST_P(PassingBy, LeavesTheElementsThatFollow) {
  for (const Dataset& source : {damaged_source(23, -1), damaged_indexed_source(23, -1), rows(23)}) {
    const Dataset dataset = GetParam().make(source);
    const auto walked = dataset.make_iterator();
    const std::string start = walked->save();
    const auto whole = all(dataset);
    const std::size_t count = rest(*walked).size();
    walked->restore(start);
    const auto expected = rest(*walked);
    EXPECT_EQ(whole.size(), count);
    for (std::size_t first = 0; first < 3; ++first) {
      for (std::size_t passed = 0; passed <= count + 2; ++passed) {
        auto iterator = dataset.make_iterator();
        iterator->restore(start);
        Tensors element;
        for (std::size_t i = 0; i < first; ++i) iterator->next(element);
        const std::size_t there = count - std::min(count, first);
        ASSERT_EQ(iterator->skip(passed), std::min(passed, there)) << first << " " << passed;
        const std::size_t at = std::min(count, std::min(first, count) + passed);
        ASSERT_EQ(rest(*iterator), std::vector(expected.begin() + static_cast<std::ptrdiff_t>(at), expected.end()))
            << first << " " << passed;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Datasets, PassingBy, testing::ValuesIn(kPassingCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Skip, ReadsNothingThatIsPassedBy) {
  const Dataset data = damaged_indexed_source(1000, -1).map(one_more).batch(10);
  auto iterator = data.make_iterator();
  const std::int64_t before = elements_read();
  EXPECT_EQ(iterator->skip(90), 90u);
  EXPECT_EQ(elements_read() - before, 0);
  EXPECT_EQ(rest(*iterator).size(), 10u);
  EXPECT_EQ(elements_read() - before, 100);
}

TEST(Shard, ReadsItsOwnElementsAlone) {
  const Dataset data = damaged_indexed_source(1000, -1).shuffle(1000, {.seed = 1}).map(one_more).shard(4, 2);
  const std::int64_t before = elements_read();
  EXPECT_EQ(all(data).size(), 250u);
  EXPECT_EQ(elements_read() - before, 250);
}

// The numbers that an iterator gives, and how many errors come between them.
std::pair<std::multiset<std::int64_t>, int> numbers_and_errors(DatasetIterator& iterator) {
  std::multiset<std::int64_t> seen;
  int errors = 0;
  Tensors element;
  for (bool more = true; more;) {
    try {
      more = iterator.next(element);
      if (more) seen.insert(element.at(0).item<std::int64_t>());
    } catch (const Error&) {
      ++errors;
    }
  }
  return {seen, errors};
}

TEST(Shard, StaysAlignedPastElementsThatFail) {
  for (const Dataset& source : {damaged_source(60, 7), damaged_indexed_source(60, 7)}) {
    for (const bool skips : {false, true}) {
      std::multiset<std::int64_t> seen, expected;
      for (std::int64_t i = skips ? 8 : 0; i < 60; ++i) {
        if (i % 7 != 0) expected.insert(i);
      }
      int errors = 0;
      for (std::int64_t shard = 0; shard < 4; ++shard) {
        const Dataset part = (skips ? source.skip(8) : source).shard(4, shard);
        const auto [of_shard, errors_of_shard] = numbers_and_errors(*part.make_iterator());
        for (const std::int64_t number : of_shard) EXPECT_EQ(number % 4, shard);
        seen.insert(of_shard.begin(), of_shard.end());
        errors += errors_of_shard;
      }
      EXPECT_EQ(seen, expected);
      EXPECT_EQ(errors, skips ? 7 : 9);
    }
  }
}

TEST(Enumerate, NumbersElementsThatFail) {
  auto iterator = damaged_source(5, 3).enumerate().make_iterator();
  Tensors element;
  EXPECT_THROW(iterator->next(element), Error);
  for (std::int64_t number : {1, 2}) {
    ASSERT_TRUE(iterator->next(element));
    EXPECT_EQ(element[0].item<std::int64_t>(), number);
  }
}

// Restored in another process, a shuffle of a stream goes on in the same order past elements that fail.
TEST(Shuffle, RestoresPastElementsThatFail) {
  const Dataset data = damaged_source(40, 7).shuffle(6, {.seed = 4});
  const auto walked = data.make_iterator();
  std::vector<std::string> states{walked->save()};
  std::vector<std::int64_t> given;  // -1 for an error
  Tensors element;
  for (bool more = true; more;) {
    try {
      more = walked->next(element);
      if (more) given.push_back(element[0].item<std::int64_t>());
    } catch (const Error&) {
      given.push_back(-1);
    }
    states.push_back(walked->save());
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    auto other = data.make_iterator();
    other->restore(states[i]);
    const auto [seen, errors] = numbers_and_errors(*other);
    std::multiset<std::int64_t> expected(given.begin() + static_cast<std::ptrdiff_t>(i), given.end());
    EXPECT_EQ(errors, static_cast<int>(expected.count(-1))) << i;
    expected.erase(-1);
    EXPECT_EQ(seen, expected) << i;
  }
}

Tensors with_draw(const Tensor& x) {
  return {x, ops::cast(ops::random_uniform({}, 0, 1 << 20, DType::Float32, 5), int64)};
}

std::map<std::int64_t, std::int64_t> draws(DatasetIterator& iterator) {
  std::map<std::int64_t, std::int64_t> by_element;
  Tensors element;
  while (iterator.next(element)) {
    const auto elements = element[0].to_vector<std::int64_t>(), drawn = element[1].to_vector<std::int64_t>();
    for (std::size_t i = 0; i < elements.size(); ++i) by_element[elements[i]] = drawn[i];
  }
  return by_element;
}

TEST(Map, DrawsDependOnTheElementAlone) {
  const auto drawn = [](const Dataset& source, std::int64_t calls = 0) {
    return source.map(
        [](const Element& x) {
          const Tensors both = with_draw(x.leaf());
          return Element::tuple({Element(both[0]), Element(both[1])});
        },
        {.num_parallel_calls = calls});
  };
  const auto expected = draws(*drawn(rows(60)).make_iterator());
  ASSERT_EQ(expected.size(), 60u);
  std::set<std::int64_t> different;
  for (const auto& [element, draw] : expected) different.insert(draw);
  EXPECT_GT(different.size(), 55u);
  const Dataset others[] = {drawn(rows(60), 4),
                            drawn(rows(60), kAutotune).batch(7),
                            drawn(rows(60).shuffle(60, {.seed = 1})),
                            drawn(rows(60).shuffle(8, {.seed = 1})).batch(4),
                            drawn(rows(60)).shuffle(8, {.seed = 1}),
                            drawn(rows(60).cache().prefetch(3), 3),
                            drawn(rows(60).skip(0).take(100))};
  for (const Dataset& other : others) EXPECT_EQ(draws(*other.make_iterator()), expected);
  std::map<std::int64_t, std::int64_t> of_shards, of_later_shards;
  for (std::int64_t shard = 0; shard < 3; ++shard) {
    of_shards.merge(draws(*drawn(rows(60).shard(3, shard)).make_iterator()));
    of_later_shards.merge(draws(*drawn(rows(60).prefetch(2)).shard(3, shard).make_iterator()));
  }
  EXPECT_EQ(of_shards, expected);
  EXPECT_EQ(of_later_shards, expected);
  // Another epoch draws anew, over a cache, too.
  for (const Dataset& again : {drawn(rows(60)), drawn(rows(60).cache()), drawn(rows(60).map(one_more).cache())}) {
    auto iterator = again.make_iterator();
    const auto first = draws(*iterator);
    iterator->rewind();
    EXPECT_NE(draws(*iterator), first);
  }
}

TEST(Fingerprint, IsThatOfTheElementsAndTheirOrder) {
  const auto chain = [](std::int64_t buffer, std::int64_t seed, std::int64_t calls, std::int64_t ahead) {
    return rows(50)
        .shuffle(buffer, {.seed = seed})
        .map(one_more, {.num_parallel_calls = calls})
        .batch(4)
        .prefetch(ahead);
  };
  const Dataset data = chain(10, 1, 0, 2);
  auto iterator = data.make_iterator();
  Tensors element;
  for (int i = 0; i < 5; ++i) iterator->next(element);
  const std::string state = iterator->save();
  const auto expected = rest(*iterator);
  for (const Dataset& same : {chain(10, 1, 4, 7), chain(10, 9, 2, 1), parse_dataset(serialize(data))}) {
    auto other = same.make_iterator();
    other->restore(state);
    EXPECT_EQ(rest(*other), expected);
  }
  const Dataset others[] = {
      chain(11, 1, 0, 2), rows(51).shuffle(10).map(one_more).batch(4).prefetch(2),
      rows(50).shuffle(10).map(one_more).batch(5).prefetch(2),
      rows(50).shuffle(10).map([](Tensor x) { return x + std::int64_t{2}; }).batch(4).prefetch(2)};
  for (const Dataset& other : others) EXPECT_THROW(other.make_iterator()->restore(state), Error);
}

TEST(IndexedIterator, RestoresFarIntoAPassAtOnce) {
  const Dataset data = damaged_indexed_source(1'000'000, -1).shuffle(1'000'000, {.seed = 1}).map(one_more).batch(10);
  auto iterator = data.make_iterator();
  iterator->skip(90'000);
  const std::string state = iterator->save();
  auto other = data.make_iterator();
  const std::int64_t before = elements_read();
  const auto begin = std::chrono::steady_clock::now();
  other->restore(state);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(10));
  EXPECT_EQ(elements_read() - before, 0);
  EXPECT_EQ(rest(*other, 0, 3), rest(*iterator, 0, 3));
}

}  // namespace
}  // namespace cohort::datasets::test
