#include "cohort/datasets/transforms/interleave.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "cohort/core/thread_pool.h"
#include "cohort/data/broken_source.h"
#include "cohort/datasets/transforms/flat_map.h"
#include "cohort/ops/ops.h"
#include "cohort/ops/random_ops.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/skipping.h"
#include "tests/datasets/stage_checks.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// 100 * x, 100 * x + 1, ... : as many as x says.
Dataset a_run(const Tensor& x) {
  const auto first = 100 * x.item<std::int64_t>();
  return range(first, first + x.item<std::int64_t>());
}
COHORT_DATASET_FUNCTION("test>a_run", a_run);

Dataset of_lengths(const std::vector<std::int64_t>& lengths) {
  return from_tensor_slices(Tensor::of(lengths, {static_cast<std::int64_t>(lengths.size())}));
}

// The order that TensorFlow documents, spelled out: places in a cycle; an empty place takes the next dataset when its
// turn comes; a dataset found at its end leaves its place empty, and the turn goes on.
std::vector<std::int64_t> documented_order(const std::vector<std::int64_t>& lengths, std::size_t cycle,
                                           std::int64_t block) {
  std::deque<std::vector<std::int64_t>> waiting;
  for (const std::int64_t length : lengths) {
    std::vector<std::int64_t> run;
    for (std::int64_t i = 0; i < length; ++i) run.push_back(100 * length + i);
    waiting.push_back(run);
  }
  std::vector<std::optional<std::deque<std::int64_t>>> places(cycle);
  std::vector<std::int64_t> order;
  const auto any_open = [&] {
    return std::any_of(places.begin(), places.end(), [](const auto& place) { return place.has_value(); });
  };
  for (std::size_t turn = 0; !waiting.empty() || any_open(); turn = (turn + 1) % cycle) {
    if (!places[turn]) {
      if (waiting.empty()) continue;
      places[turn].emplace(waiting.front().begin(), waiting.front().end());
      waiting.pop_front();
    }
    for (std::int64_t taken = 0; taken < block; ++taken) {
      if (places[turn]->empty()) {
        places[turn].reset();
        break;
      }
      order.push_back(places[turn]->front());
      places[turn]->pop_front();
    }
  }
  return order;
}

std::vector<std::int64_t> random_lengths(std::mt19937& random) {
  std::vector<std::int64_t> lengths(1 + random() % 12);
  for (std::int64_t& length : lengths) length = static_cast<std::int64_t>(random() % 7);
  return lengths;
}

TEST(Interleave, IsTheExampleOfTensorFlow) {
  const Dataset data = range(1, 6).apply(interleave([](Tensor x) { return from_tensor_slices(x.view({1})).repeat(6); },
                                                    {.cycle_length = 2, .block_length = 4}));
  EXPECT_THAT(numbers(data),
              ElementsAre(1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5));
}

TEST(Interleave, KeepsTheDocumentedOrder) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    const auto lengths = random_lengths(random);
    const std::int64_t cycle = 1 + static_cast<std::int64_t>(random() % 6),
                       block = 1 + static_cast<std::int64_t>(random() % 4);
    const auto expected = documented_order(lengths, static_cast<std::size_t>(cycle), block);
    for (const std::int64_t calls : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{8}, kAutotune}) {
      const Dataset data = of_lengths(lengths).apply(
          interleave(a_run, {.cycle_length = cycle, .block_length = block, .num_parallel_calls = calls}));
      ASSERT_EQ(numbers(data), expected) << "cycle " << cycle << " block " << block << " calls " << calls;
    }
  }
}

TEST(Interleave, OutOfOrderLosesAndRepeatsNothing) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 40; ++trial) {
    const auto lengths = random_lengths(random);
    const Dataset data = of_lengths(lengths).apply(interleave(
        [](Tensor x) {
          if (x.item<std::int64_t>() % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
          return a_run(x);
        },
        {.cycle_length = 3, .block_length = 2, .num_parallel_calls = 2, .deterministic = false}));
    std::multiset<std::int64_t> expected;
    for (const std::int64_t number : documented_order(lengths, 1, 1)) expected.insert(number);
    const std::size_t count = expected.size();
    // Saved anywhere, and gone on with somewhere else.
    for (std::size_t at = 0; at <= count; at += 3) {
      auto iterator = data.make_iterator();
      std::multiset<std::int64_t> seen;
      for (const std::int64_t number : numbers(*iterator, at)) seen.insert(number);
      auto other = parse_dataset(serialize(data)).make_iterator();
      other->restore(iterator->save());
      for (const std::int64_t number : numbers(*other)) seen.insert(number);
      ASSERT_EQ(seen, expected) << at;
    }
  }
}

TEST(Interleave, OutOfOrderDoesNotWaitForASlowDataset) {
  const int threads = ThreadPool::instance().threads();
  ThreadPool::instance().set_threads(4);
  const auto slow_at_four = [](Tensor x) {
    if (x.item<std::int64_t>() == 4) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return a_run(x);
  };
  const Dataset data = of_lengths({30, 4}).apply(
      interleave(slow_at_four, {.cycle_length = 2, .num_parallel_calls = 2, .deterministic = false}));
  const auto order = numbers(data);
  ThreadPool::instance().set_threads(threads);
  std::vector<std::int64_t> in_order;
  for (const Dataset& each : {a_run(Tensor::of<std::int64_t>({30}, {})), a_run(Tensor::of<std::int64_t>({4}, {}))}) {
    for (const std::int64_t number : numbers(each)) in_order.push_back(number);
  }
  EXPECT_THAT(order, testing::UnorderedElementsAreArray(in_order));
  // In order the slow one's would come second.
  EXPECT_GT(std::find(order.begin(), order.end(), 400) - order.begin(), 1);
}

TEST(FlatMap, LooksAtAnElementWithoutBeingARun) {
  const Dataset input = of_lengths({3, 2, 4, 1, 5}).shuffle(5, {.seed = 1}), same = parse_dataset(serialize(input));
  input.apply(flat_map(a_run));
  EXPECT_EQ(numbers(input), numbers(same));
}

TEST(FlatMap, WalksOneDatasetAfterTheOther) {
  const Dataset data = of_lengths({2, 0, 3, 1}).apply(flat_map(a_run));
  EXPECT_THAT(numbers(data), ElementsAre(200, 201, 300, 301, 302, 100));
  EXPECT_EQ(to_string(data.element_spec()), "int64()");
  EXPECT_EQ(data.cardinality(), kUnknownCardinality);
  EXPECT_EQ(of_lengths({2}).repeat().apply(flat_map(a_run)).cardinality(), kInfiniteCardinality);
  EXPECT_EQ(of_lengths({2}).take(0).apply(flat_map(a_run, {.element_spec = data.element_spec()})).cardinality(), 0);
}

TEST(FlatMap, TakesTheTensorsOfAnElementOrTheElement) {
  const Dataset pairs = Dataset::zip({rows(3), range(3).map([](Tensor x) { return x + std::int64_t{1}; })});
  const auto of_tensors = [](Tensor first, Tensor count) {
    return range(first.item<std::int64_t>(), first.item<std::int64_t>() + count.item<std::int64_t>());
  };
  const auto of_element = [=](const Element& pair) { return of_tensors(pair[0].leaf(), pair[1].leaf()); };
  EXPECT_THAT(numbers(pairs.apply(flat_map(of_tensors))), ElementsAre(0, 1, 2, 2, 3, 4));
  EXPECT_THAT(numbers(pairs.apply(flat_map(of_element))), ElementsAre(0, 1, 2, 2, 3, 4));
  EXPECT_THAT([&] { pairs.apply(flat_map(a_run)); },
              ThrowsMessage<Error>("Dataset.flat_map: the function takes one argument for each tensor of an element. "
                                   "Received: arguments=1, tensors=2."));
}

TEST(FlatMap, AnElementSpecIsNeededWhereTheInputIsEmpty) {
  EXPECT_THAT([] { range(0).apply(flat_map(a_run)); }, ThrowsMessage<Error>(HasSubstr("Give element_spec")));
  EXPECT_TRUE(numbers(range(0).apply(flat_map(a_run, {.element_spec = TensorSpec{DType::Int64, {}}}))).empty());
}

TEST(FlatMap, ADatasetOfOtherElementsIsOneError) {
  const auto wide_or_not = [](Tensor x) {
    const std::int64_t number = x.item<std::int64_t>();
    if (number == 1) return range(4).batch(2);
    return range(100 * number, 100 * number + 2);
  };
  const Dataset data = range(3).apply(flat_map(wide_or_not));
  EXPECT_THAT(numbers_or_errors(*data.make_iterator()), ElementsAre(0, 1, -1, 200, 201));
  expect_restores_anywhere(data);
  expect_skip_equals_walking(data);
}

TEST(Interleave, RefusesWrongOptions) {
  const Dataset input = of_lengths({1, 2});
  EXPECT_THROW(input.apply(interleave(a_run, {.cycle_length = 0})), Error);
  EXPECT_THROW(input.apply(interleave(a_run, {.block_length = 0})), Error);
  EXPECT_THROW(input.apply(interleave(a_run, {.num_parallel_calls = -2})), Error);
  EXPECT_THROW(input.apply(interleave(a_run, {.cycle_length = 5000})), Error);
}

Dataset damaged_or_whole(const Tensor& x) {
  const std::int64_t length = x.item<std::int64_t>();
  if (length == 5) throw invalid_argument("damaged_or_whole", "another length than 5 is expected");
  return length % 2 == 0 ? damaged_source(length, 3) : damaged_indexed_source(length, 2);
}

TEST(Interleave, GoesOnBehindElementsThatFail) {
  for (const std::int64_t calls : {0, 1, 3}) {
    for (const std::int64_t cycle : {1, 2, 4}) {
      for (const std::int64_t block : {1, 3}) {
        const Dataset data =
            of_lengths({4, 5, 3, 0, 6, 1})
                .apply(interleave(damaged_or_whole,
                                  {.cycle_length = cycle, .block_length = block, .num_parallel_calls = calls}));
        expect_passing_by_equals_walking(data);
        if (calls == 0) expect_restores_anywhere(data);
      }
    }
  }
  // An input that fails is one error, too: numbers 0 and 3 of this one.
  const Dataset data = damaged_source(5, 3).apply(flat_map(a_run, {.element_spec = TensorSpec{DType::Int64, {}}}));
  EXPECT_THAT(numbers_or_errors(*data.make_iterator()), ElementsAre(-1, 100, 200, 201, -1, 400, 401, 402, 403));
  expect_passing_by_equals_walking(data);
}

// 0, 1, 2 and then an end of the source that is none.
class BreakingIterator : public DatasetIterator {
 public:
  bool next(Tensors& element) override {
    if (next_ == 3) throw BrokenSource(Error(ErrorCode::DataLoss, "the rest is gone"));
    element.assign(1, Tensor::of<std::int64_t>({next_++}, {}, cpu()));
    return true;
  }
  void rewind() override { next_ = 0; }
  void save_to(StateWriter& state) const override { state.number(static_cast<std::uint64_t>(next_)); }
  void restore_from(StateReader& state) override { next_ = static_cast<std::int64_t>(state.number()); }

 private:
  std::int64_t next_ = 0;
};
class BreakingStage : public DatasetStage {
 public:
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<BreakingIterator>(); }

 private:
  ElementSpec spec_ = TensorSpec{DType::Int64, {}};
};
COHORT_DATASET("test>breaking_source",
               [](const std::vector<Dataset>&, const Attributes&) { return std::make_shared<BreakingStage>(); });

Dataset breaking_or_whole(const Tensor& x) {
  return x.item<std::int64_t>() == 1 ? Dataset::make("test>breaking_source", {}, {}) : a_run(x);
}

TEST(Interleave, ASourceThatCannotGoOnIsOneErrorOfManySources) {
  for (const std::int64_t calls : {0, 2}) {
    const Dataset data =
        of_lengths({2, 1, 3}).apply(interleave(breaking_or_whole, {.cycle_length = 1, .num_parallel_calls = calls}));
    EXPECT_THAT(numbers_or_errors(*data.make_iterator()), ElementsAre(200, 201, 0, 1, 2, -1, 300, 301, 302));
    expect_passing_by_equals_walking(data);
    EXPECT_THAT(numbers(data.ignore_errors()), ElementsAre(200, 201, 0, 1, 2, 300, 301, 302));
  }
}

TEST(Interleave, AnInputThatCannotGoOnEndsItAll) {
  const Dataset input = Dataset::make("test>breaking_source", {}, {});
  for (const std::int64_t calls : {0, 2}) {
    const auto iterator =
        input.apply(interleave([](Tensor) { return range(2); }, {.cycle_length = 5, .num_parallel_calls = calls}))
            .make_iterator();
    EXPECT_THAT(numbers(*iterator, 3), ElementsAre(0, 0, 0));
    Tensors element;
    EXPECT_THROW(iterator->next(element), BrokenSource);
  }
}

TEST(Interleave, RestoresInAnyParallelism) {
  const auto chain = [](std::int64_t calls) {
    return of_lengths({3, 5, 0, 2, 6, 1, 4, 4})
        .shuffle(4, {.seed = 3})
        .apply(interleave(a_run, {.cycle_length = 3, .block_length = 2, .num_parallel_calls = calls}));
  };
  for (const std::int64_t saved_with : {0, 1, 4}) {
    const auto iterator = chain(saved_with).make_iterator();
    for (bool more = true; more;) {
      const std::string state = iterator->save();
      std::vector<std::vector<std::int64_t>> rests;
      for (const std::int64_t calls : {0, 2, 8}) {
        const auto other = chain(calls).make_iterator();
        other->restore(state);
        rests.push_back(numbers(*other));
      }
      EXPECT_EQ(rests[1], rests[0]);
      EXPECT_EQ(rests[2], rests[0]);
      const auto one = numbers(*iterator, 1);
      more = !one.empty();
      if (more) {
        ASSERT_EQ(one[0], rests[0].at(0));
      }
    }
  }
}

TEST(Interleave, SkipsWithoutReading) {
  const Dataset data =
      of_lengths({1000, 1000, 1000})
          .apply(interleave([](Tensor x) { return damaged_indexed_source(x.item<std::int64_t>(), -1); },
                            {.cycle_length = 2, .block_length = 3}));
  const auto iterator = data.make_iterator();
  const std::int64_t before = elements_read();
  EXPECT_EQ(iterator->skip(2900), 2900u);
  EXPECT_EQ(elements_read() - before, 0);
  const auto other = data.make_iterator();
  other->restore(iterator->save());
  EXPECT_EQ(elements_read() - before, 0);
  EXPECT_EQ(numbers(*iterator).size(), 100u);
}

TEST(Interleave, KeysTellElementsOfDifferentDatasetsApart) {
  const Dataset input = of_lengths({5, 3, 4});
  const auto keys_by_element = [](const Dataset& data) {
    std::map<std::int64_t, std::uint64_t> keys;
    for (const Outcome& outcome : outcomes(*data.make_iterator())) keys[outcome.leaves[0][0]] = outcome.key->number;
    return keys;
  };
  const auto keys = keys_by_element(input.apply(flat_map(a_run)));
  std::set<std::uint64_t> different;
  for (const auto& [element, key] : keys) different.insert(key);
  EXPECT_EQ(different.size(), 12u);
  EXPECT_EQ(keys_by_element(input.shuffle(3, {.seed = 5}).apply(interleave(a_run, {.num_parallel_calls = 2}))), keys);
}

// Functions of elements inside draw anew in another epoch.
TEST(FlatMap, DatasetsInsideAreInThePassOutside) {
  const auto noisy = [](Tensor) {
    return range(4).map(
        [](Tensor) { return ops::cast(ops::random_uniform({}, 0, 1 << 20, DType::Float32, 5), int64); });
  };
  const auto iterator = range(1).apply(flat_map(noisy)).make_iterator();
  const auto first = numbers(*iterator);
  iterator->rewind();
  const auto second = numbers(*iterator);
  EXPECT_EQ(first.size(), 4u);
  EXPECT_NE(first, second);
}

TEST(DatasetFunction, ThatIsLocalIsRefusedElsewhere) {
  const Dataset local = of_lengths({2, 3}).apply(flat_map(a_run));
  Attributes elsewhere = local.attributes();
  elsewhere.set("local_function", "1/2/3");
  EXPECT_THAT([&] { Dataset::make("flat_map", local.inputs(), elsewhere); },
              ThrowsMessage<Error>(HasSubstr("COHORT_DATASET_FUNCTION")));
  EXPECT_THAT([] { DatasetFunction::registered("test>nobody"); }, ThrowsMessage<Error>(HasSubstr("test>a_run")));
  EXPECT_THROW(DatasetFunction::make_known("test>a_run", a_run), Error);
}

TEST(DatasetFunction, FingerprintsKnowRegisteredNamesAlone) {
  const Dataset input = of_lengths({2, 3});
  const auto fingerprint = [&](const DatasetFunction& f) { return input.apply(flat_map(f)).fingerprint(); };
  EXPECT_EQ(fingerprint(a_run), fingerprint([](Tensor x) { return a_run(x); }));
  EXPECT_NE(fingerprint(a_run), fingerprint(DatasetFunction::registered("test>a_run")));
  EXPECT_EQ(numbers(input.apply(flat_map(DatasetFunction::registered("test>a_run")))),
            numbers(input.apply(flat_map(a_run))));
}

Dataset runs(InterleaveOptions options) { return of_lengths({3, 0, 4, 2, 1, 5}).apply(interleave(a_run, options)); }

const PositionsCase kInterleaveCases[] = {
    {"flat",
     [] {
       return of_lengths({3, 0, 4, 2}).apply(flat_map(a_run));
     }},
    {"registered",
     [] {
       return of_lengths({3, 4}).apply(flat_map(DatasetFunction::registered("test>a_run")));
     }},
    {"alone", [] { return runs({.cycle_length = 3, .block_length = 2}); }},
    {"in_parallel", [] { return runs({.cycle_length = 3, .num_parallel_calls = 2}); }},
    {"wide", [] { return runs({.num_parallel_calls = kAutotune}).batch(2); }},
    {"shuffled",
     [] {
       return of_lengths({3, 2, 4, 1}).shuffle(2, {.seed = 1}).apply(interleave(a_run, {.cycle_length = 2}));
     }},
    {"of_shuffles",
     [] {
       return of_lengths({3, 6, 4}).apply(
           interleave([](Tensor x) { return a_run(x).shuffle(4, {.seed = 2}); }, {.num_parallel_calls = 2}));
     }},
    {"nested",
     [] { return range(3).apply(flat_map([](Tensor) {
            return of_lengths({2, 3}).apply(interleave(a_run));
          })); }},
};
INSTANTIATE_TEST_SUITE_P(Interleave, Positions, testing::ValuesIn(kInterleaveCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
