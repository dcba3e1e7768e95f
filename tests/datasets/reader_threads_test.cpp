#include "cohort/datasets/transforms/reader_threads.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <set>
#include <thread>

#include "cohort/core/thread_pool.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/transforms/interleave.h"
#include "cohort/datasets/transforms/map.h"
#include "tests/datasets/stage_checks.h"

namespace cohort::datasets::test {
namespace {

// Long enough on any machine; a test that has to wait so long fails.
constexpr std::chrono::seconds kPatience{20};

// Lets through who comes with a number below some limit, and says how many have come.
class Gate {
 public:
  void open_below(std::int64_t limit) {
    std::lock_guard lock(mutex_);
    limit_ = limit;
    changed_.notify_all();
  }
  void open() { open_below(INT64_MAX); }
  void close() {
    std::lock_guard lock(mutex_);
    limit_ = 0;
    come_ = 0;
  }
  void pass(std::int64_t number) {
    std::unique_lock lock(mutex_);
    ++come_;
    changed_.notify_all();
    changed_.wait_for(lock, kPatience, [&] { return number < limit_; });
  }
  bool wait_until_come(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return come_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t limit_ = 0;
  int come_ = 0;
};

std::string name_of_thread() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

// On this thread and `helpers` others of the pool, all at once; false when they do not come.
bool op_has_help(
    int helpers, const std::function<void()>& begun = [] {}) {
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  bool all = false;
  ThreadPool::instance().run_blocks(helpers + 1, [&](std::int64_t block) {
    if (block == 0) begun();
    std::unique_lock lock(mutex);
    all = ++inside == helpers + 1 || all;
    changed.notify_all();
    changed.wait_for(lock, kPatience, [&] { return all; });
  });
  return all;
}

class PoolOfFour : public testing::Test {
 protected:
  PoolOfFour() { ThreadPool::instance().set_threads(4); }
  ~PoolOfFour() override { ThreadPool::instance().set_threads(before_); }

 private:
  const int before_ = ThreadPool::instance().threads();
};

Gate function_gate;
COHORT_HOST_FUNCTION("test>through_a_gate", [](const Tensors& x) {
  function_gate.pass(x[0].item<std::int64_t>());
  return x;
});

using AnOpBesideAMap = PoolOfFour;

// Three elements keep the three threads of the pool. One ends while an op wants help: the thread goes there, and not to
// the elements that wait.
TEST_F(AnOpBesideAMap, WaitsForAThreadNoLongerThanOneElement) {
  function_gate.close();
  const auto iterator = range(12)
                            .apply(map(HostFunction::registered("test>through_a_gate", TensorSpec{DType::Int64, {}}),
                                       {.num_parallel_calls = 9}))
                            .make_iterator();
  function_gate.open_below(2);
  EXPECT_EQ(numbers(*iterator, 1), (std::vector<std::int64_t>{0}));
  const std::vector<std::int64_t> second = numbers(*iterator, 1);  // eight others are under way with it
  EXPECT_EQ(second, (std::vector<std::int64_t>{1}));
  ASSERT_TRUE(function_gate.wait_until_come(5));
  EXPECT_TRUE(op_has_help(1, [] { function_gate.open_below(3); }));
  function_gate.open();
  EXPECT_EQ(numbers(*iterator).size(), 10u);
}

// Numbers that a source waits for.
Gate source_gate;
std::mutex reader_names_mutex;
std::set<std::string> reader_names;

class AwaitedElements : public IndexedElements {
 public:
  explicit AwaitedElements(std::int64_t count) : count_(count) {}
  std::uint64_t count() const override { return static_cast<std::uint64_t>(count_); }
  ElementKey key(ElementPlace place) const override { return {place.pass, place.position}; }
  bool blocks() const override { return true; }
  void read(ElementPlace place, Tensors& element) const override {
    {
      std::lock_guard lock(reader_names_mutex);
      reader_names.insert(name_of_thread());
    }
    source_gate.pass(static_cast<std::int64_t>(place.position));
    if (place.position % 7 == 3) throw Error(ErrorCode::DataLoss, "awaited: " + std::to_string(place.position));
    element.resize(1);
    element[0].renew(DType::Int64, {}, cpu());
    *static_cast<std::int64_t*>(element[0].raw()) = static_cast<std::int64_t>(place.position);
  }

 private:
  std::int64_t count_;
};

class AwaitedStage : public DatasetStage {
 public:
  explicit AwaitedStage(std::int64_t count) : count_(count) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return count_; }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<IndexedIterator>(indexed()); }
  bool is_indexed() const override { return true; }
  std::unique_ptr<IndexedElements> indexed() const override { return std::make_unique<AwaitedElements>(count_); }

 private:
  std::int64_t count_;
  ElementSpec spec_ = TensorSpec{DType::Int64, {}};
};
COHORT_DATASET("test>awaited", [](const std::vector<Dataset>&, const Attributes& attributes) {
  return std::make_shared<AwaitedStage>(attributes.get<std::int64_t>("count"));
});

Dataset awaited(std::int64_t count) { return Dataset::make("test>awaited", {}, {{"count", count}}); }

COHORT_HOST_FUNCTION("test>times_ten", [](const Tensors& x) {
  return Tensors{Tensor::of<std::int64_t>({x[0].item<std::int64_t>() * 10}, {}, cpu())};
});
Dataset times_ten(const Dataset& input, std::int64_t calls) {
  return input.apply(
      map(HostFunction::registered("test>times_ten", TensorSpec{DType::Int64, {}}), {.num_parallel_calls = calls}));
}

void expect_no_reads_in_the_pool() {
  std::lock_guard lock(reader_names_mutex);
  EXPECT_FALSE(reader_names.empty());
  for (const std::string& name : reader_names) EXPECT_FALSE(name.starts_with("cohort-pool")) << name;
  reader_names.clear();
}

using ReaderThreadsTest = PoolOfFour;

// While reads hang, the pool is free.
TEST_F(ReaderThreadsTest, WaitForWhatAMapReads) {
  source_gate.close();
  const auto iterator = times_ten(awaited(30), 6).make_iterator();
  source_gate.open_below(2);
  EXPECT_EQ(numbers(*iterator, 1), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(numbers(*iterator, 1), (std::vector<std::int64_t>{10}));
  ASSERT_TRUE(source_gate.wait_until_come(2 + 5)) << "five are read ahead";
  EXPECT_TRUE(op_has_help(3));
  source_gate.open();
  EXPECT_EQ(numbers_or_errors(*iterator).size(), 28u);
  expect_no_reads_in_the_pool();
}

TEST_F(ReaderThreadsTest, GiveTheSameElementsAtAnyWidth) {
  source_gate.close();
  source_gate.open();
  const std::vector<std::int64_t> expected = numbers_or_errors(*times_ten(awaited(40), 0).make_iterator());
  EXPECT_EQ(expected.size(), 40u);
  for (const std::int64_t calls : {std::int64_t{1}, std::int64_t{2}, std::int64_t{8}, std::int64_t{64}, kAutotune}) {
    EXPECT_EQ(numbers_or_errors(*times_ten(awaited(40), calls).make_iterator()), expected) << calls;
    // From every position, and some are passed by.
    for (std::uint64_t at = 0; at < 40; at += 3) {
      const auto iterator = times_ten(awaited(40), calls).make_iterator();
      for (int i = 0; i < 2; ++i) next_outcome(*iterator);
      EXPECT_EQ(iterator->skip(at), std::min<std::uint64_t>(at, 38));
      const auto other = times_ten(awaited(40), calls).make_iterator();
      other->restore(iterator->save());
      const std::vector<std::int64_t> rest(expected.begin() + std::min<std::ptrdiff_t>(2 + static_cast<int>(at), 40),
                                           expected.end());
      EXPECT_EQ(numbers_or_errors(*iterator), rest);
      EXPECT_EQ(numbers_or_errors(*other), rest);
    }
  }
  reader_names.clear();
}

// Rows are read several at a time, and none of them in the pool.
TEST_F(ReaderThreadsTest, WaitForTheRowsOfABatch) {
  source_gate.close();
  std::thread opener([] {
    EXPECT_TRUE(source_gate.wait_until_come(3)) << "one after the other";
    source_gate.open();
  });
  Tensors batch;
  EXPECT_TRUE(awaited(3).batch(3).make_iterator()->next(batch));
  opener.join();
  EXPECT_EQ(batch.at(0).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_TRUE(times_ten(awaited(3), kAutotune).batch(3).make_iterator()->next(batch));
  EXPECT_EQ(batch.at(0).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 10, 20}));
  expect_no_reads_in_the_pool();
}

TEST_F(ReaderThreadsTest, GiveTheFirstErrorOfABatch) {
  source_gate.close();
  source_gate.open();
  Tensors batch;
  try {
    awaited(40).batch(40).make_iterator()->next(batch);
    ADD_FAILURE() << "rows 3, 10, ... cannot be read";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "awaited: 3");
  }
  reader_names.clear();
}

COHORT_DATASET_FUNCTION("test>awaited_ones", [](const Tensor&) { return awaited(2); });

TEST_F(ReaderThreadsTest, WaitForTheDatasetsOfAnInterleave) {
  source_gate.close();
  const auto iterator =
      range(6)
          .apply(interleave(DatasetFunction::registered("test>awaited_ones"),
                            {.cycle_length = 6, .num_parallel_calls = 6, .element_spec = TensorSpec{DType::Int64, {}}}))
          .make_iterator();
  std::thread opener([] {
    EXPECT_TRUE(source_gate.wait_until_come(6)) << "not all are read at a time";
    EXPECT_TRUE(op_has_help(3));
    source_gate.open();
  });
  EXPECT_EQ(numbers(*iterator), (std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}));
  opener.join();
  expect_no_reads_in_the_pool();
}

// Where the framework chooses, a consumer that waits makes the stage wider.
TEST_F(ReaderThreadsTest, BecomeMoreWhenTheConsumerWaits) {
  source_gate.close();
  source_gate.open();
  for (const Dataset& data :
       {times_ten(awaited(3).repeat(), kAutotune),
        range(1000).apply(interleave(
            DatasetFunction::registered("test>awaited_ones"),
            {.cycle_length = 8, .num_parallel_calls = kAutotune, .element_spec = TensorSpec{DType::Int64, {}}}))}) {
    const auto iterator = data.make_iterator();
    EXPECT_EQ(iterator->stats()[0].parallelism, 2u);
    numbers(*iterator, 2);
    source_gate.close();
    std::thread opener([] {
      EXPECT_TRUE(source_gate.wait_until_come(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      source_gate.open();
    });
    numbers(*iterator, 6);
    opener.join();
    EXPECT_GE(iterator->stats()[0].parallelism, 4u);
  }
  reader_names.clear();
}

}  // namespace
}  // namespace cohort::datasets::test
