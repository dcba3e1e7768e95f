#include "cohort/distribute/coordinator/pipeline_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <thread>

#include "cohort/core/error.h"
#include "cohort/data/dataset.h"

namespace cohort::distribute::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::int64_t one_per_step(const Closure&, std::size_t) { return 1; }

Closure closure_of(std::uint64_t id, std::vector<int> datasets, std::int64_t steps) {
  Closure closure;
  closure.id = id;
  closure.datasets = std::move(datasets);
  closure.steps = steps;
  return closure;
}

ClosureResult result_of(std::int64_t steps, std::vector<std::string> states = {}, bool data_ended = false) {
  return {.steps = steps, .data_ended = data_ended, .states = std::move(states)};
}

// (pipeline, first) of the lease a new closure gets.
std::pair<int, std::uint64_t> next_lease(PipelineBook& book, int dataset, int worker, std::int64_t steps) {
  Closure closure = closure_of(1000, {dataset}, steps);
  book.lease(closure, worker);
  return {closure.leases.at(0).pipeline, closure.leases.at(0).first};
}
using At = std::pair<int, std::uint64_t>;

TEST(PipelineBook, OnePipelineIsSharedInTheOrderOfDispatch) {
  PipelineBook book(3, one_per_step);
  const int data = book.add({kInfiniteCardinality});
  EXPECT_EQ(next_lease(book, data, 2, 10), At(0, 0));
  EXPECT_EQ(next_lease(book, data, 0, 10), At(0, 10));
  EXPECT_EQ(next_lease(book, data, 2, 5), At(0, 20));
  EXPECT_EQ(next_lease(book, data, 1, 5), At(0, 25));
}

TEST(PipelineBook, ElementsMayBeReservedInOrder) {
  PipelineBook book(2, one_per_step);
  const int data = book.add({25});
  Closure first = closure_of(1, {data}, 10), second = closure_of(2, {data}, 10), third = closure_of(3, {data}, 10);
  for (Closure* closure : {&first, &second, &third}) closure->leases = {book.reserve(data, closure->steps)};
  book.lease(third, 1);
  book.lease(second, 0);
  book.lease(first, 1);
  EXPECT_EQ(first.leases[0].first, 0u);
  EXPECT_EQ(second.leases[0].first, 10u);
  EXPECT_EQ(third.leases[0].first, 20u);
  EXPECT_EQ(book.position(data).at(0).first, 25u);
}

TEST(PipelineBook, EveryWorkerHasItsOwnPipeline) {
  PipelineBook book(3, one_per_step);
  const int data = book.add({kInfiniteCardinality, kInfiniteCardinality, kUnknownCardinality});
  EXPECT_EQ(next_lease(book, data, 2, 10), At(2, 0));
  EXPECT_EQ(next_lease(book, data, 0, 10), At(0, 0));
  EXPECT_EQ(next_lease(book, data, 2, 10), At(2, 10));
}

TEST(PipelineBook, CountsWhatEachStepTakesFromEachDataset) {
  PipelineBook book(1, [](const Closure&, std::size_t index) { return index == 0 ? 2 : 3; });
  const int a = book.add({kInfiniteCardinality}), b = book.add({kInfiniteCardinality});
  Closure first = closure_of(1, {a, b}, 4), second = closure_of(2, {a, b}, 1);
  book.lease(first, 0);
  book.lease(second, 0);
  EXPECT_EQ(second.leases.at(0).first, 8u);
  EXPECT_EQ(second.leases.at(1).first, 12u);
}

TEST(PipelineBook, ALeaseStaysTheSameInEveryAttempt) {
  PipelineBook book(2, one_per_step);
  const int data = book.add({kInfiniteCardinality, kInfiniteCardinality});
  Closure closure = closure_of(1, {data}, 10);
  book.lease(closure, 1);
  book.forget(1);
  book.lease(closure, 0);
  EXPECT_EQ(closure.leases.at(0).pipeline, 1);
  EXPECT_EQ(closure.leases.at(0).first, 0u);
  EXPECT_EQ(next_lease(book, data, 1, 10), At(1, 10));
}

TEST(PipelineBook, TakesAnotherPipelineWhenOnesOwnIsUsedUp) {
  PipelineBook book(3, one_per_step);
  const int data = book.add({4, 30, 9});
  EXPECT_EQ(next_lease(book, data, 0, 3), At(0, 0));
  EXPECT_EQ(next_lease(book, data, 0, 3), At(0, 3)) << "one element is left of its own";
  EXPECT_EQ(next_lease(book, data, 0, 3), At(1, 0)) << "the one with the most left";
  EXPECT_EQ(next_lease(book, data, 2, 10), At(2, 0));
  EXPECT_EQ(next_lease(book, data, 2, 20), At(1, 3));
  EXPECT_EQ(next_lease(book, data, 1, 20), At(1, 23));
  try {
    next_lease(book, data, 1, 1);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::OutOfRange);
    EXPECT_THAT(error.what(), HasSubstr("elements given=43"));
  }
}

TEST(PipelineBook, AStepThatCannotBeWholeIsNotBegun) {
  PipelineBook book(1, [](const Closure&, std::size_t) { return 2; });
  const int data = book.add({5});
  EXPECT_EQ(next_lease(book, data, 0, 2), At(0, 0));
  EXPECT_THROW(next_lease(book, data, 0, 1), Error);
}

TEST(PipelineBook, TheShorterDatasetBoundsWhatIsTakenFromTheOther) {
  PipelineBook book(1, one_per_step);
  const int shorter = book.add({5}), longer = book.add({100});
  Closure closure = closure_of(1, {longer, shorter}, 8);
  book.lease(closure, 0);
  EXPECT_EQ(next_lease(book, longer, 0, 1), At(0, 5));
  Closure next = closure_of(2, {longer, shorter}, 1);
  EXPECT_THROW(book.lease(next, 0), Error);
  EXPECT_TRUE(next.leases.empty());
  EXPECT_EQ(next_lease(book, longer, 0, 1), At(0, 6)) << "a lease that is not given takes nothing";
}

TEST(PipelineBook, LearnsWhereAnUnknownEndIs) {
  PipelineBook book(2, one_per_step);
  const int data = book.add({kUnknownCardinality, kUnknownCardinality});
  Closure first = closure_of(1, {data}, 10), second = closure_of(2, {data}, 10), third = closure_of(3, {data}, 10);
  book.lease(first, 0);
  book.lease(second, 0);
  book.lease(third, 0);
  EXPECT_FALSE(book.returned(first, 0, result_of(10)));
  EXPECT_FALSE(book.returned(second, 0, result_of(2, {}, true))) << "it ran some steps";
  EXPECT_TRUE(book.returned(third, 0, result_of(0, {}, true)));
  EXPECT_TRUE(third.leases.empty());
  book.lease(third, 0);
  EXPECT_EQ(third.leases.at(0).pipeline, 1) << "the other worker's pipeline has not ended yet";
  EXPECT_TRUE(book.returned(third, 0, result_of(0, {}, true)));
  EXPECT_THROW(book.lease(third, 0), Error);
}

TEST(PipelineBook, TellsWhichOfTwoDatasetsEnded) {
  PipelineBook book(1, one_per_step);
  const int endless = book.add({kInfiniteCardinality}), unknown = book.add({kUnknownCardinality});
  Closure closure = closure_of(1, {endless, unknown}, 10);
  book.lease(closure, 0);
  EXPECT_FALSE(book.returned(closure, 0, result_of(4, {"a", "b"}, true)));
  EXPECT_EQ(next_lease(book, endless, 0, 1), At(0, 4)) << "what was not taken is there for others";
  EXPECT_THROW(next_lease(book, unknown, 0, 1), Error);
}

TEST(PipelineBook, AWorkerThatStandsElsewhereGetsTheNearestState) {
  PipelineBook book(2, one_per_step);
  const int data = book.add({kInfiniteCardinality});
  Closure a = closure_of(1, {data}, 10), b = closure_of(2, {data}, 10), c = closure_of(3, {data}, 10);
  book.lease(a, 0);
  EXPECT_EQ(a.leases.at(0).state, "");
  book.returned(a, 0, result_of(10, {"at 10"}));
  b.all_done_below = 2;
  book.lease(b, 0);
  EXPECT_EQ(b.leases.at(0).state, "") << "it stands there";
  c.all_done_below = 2;
  book.lease(c, 1);
  EXPECT_EQ(c.leases.at(0).first, 20u);
  EXPECT_EQ(c.leases.at(0).state, "at 10");
  EXPECT_EQ(c.leases.at(0).state_at, 10u);

  book.returned(c, 1, result_of(10, {"at 30"}));
  book.forget(0);
  b.all_done_below = 2;
  book.lease(b, 1);
  EXPECT_EQ(b.leases.at(0).state, "at 10") << "30 is past its first element";
  book.returned(b, 1, result_of(10, {"at 20"}));
  Closure d = closure_of(4, {data}, 10);
  d.all_done_below = 4;
  book.lease(d, 0);
  EXPECT_EQ(d.leases.at(0).first, 30u);
  EXPECT_EQ(d.leases.at(0).state, "at 30");
}

TEST(PipelineBook, KeepsTheStateThatTheSlowestClosureNeeds) {
  PipelineBook book(2, one_per_step);
  const int data = book.add({kInfiniteCardinality});
  Closure first = closure_of(1, {data}, 10), slow = closure_of(2, {data}, 10);
  book.lease(first, 0);
  book.returned(first, 0, result_of(10, {"at 10"}));
  slow.all_done_below = 2;
  book.lease(slow, 0);
  for (std::uint64_t id = 3; id < 100; ++id) {
    Closure quick = closure_of(id, {data}, 10);
    quick.all_done_below = 2;
    book.lease(quick, 1);
    book.returned(quick, 1, result_of(10, {"at " + std::to_string(quick.leases.at(0).first + 10)}));
  }
  slow.all_done_below = 2;
  book.lease(slow, 1);
  EXPECT_EQ(slow.leases.at(0).state, "at 10");
  const std::vector<Lease> position = book.position(data);
  ASSERT_EQ(position.size(), 1u);
  EXPECT_EQ(position[0].first, 990u);
  EXPECT_EQ(position[0].state, "at 990");
}

TEST(PipelineBook, RewindBeginsTheNextPass) {
  PipelineBook book(2, one_per_step);
  const int data = book.add({5, 5});
  Closure old = closure_of(1, {data}, 5);
  book.lease(old, 0);
  book.rewind(data);
  Closure fresh = closure_of(2, {data}, 5);
  book.lease(fresh, 0);
  EXPECT_EQ(fresh.leases.at(0).rewinds, 1u);
  EXPECT_EQ(fresh.leases.at(0).first, 0u);
  // What comes late from the pass before changes nothing.
  book.returned(old, 0, result_of(2, {"old"}, true));
  EXPECT_EQ(old.leases.at(0).rewinds, 0u);
  EXPECT_EQ(next_lease(book, data, 0, 5), At(1, 0));
  EXPECT_EQ(book.position(data)[0].state, "");
}

TEST(PipelineBook, ResumesAtASavedPosition) {
  PipelineBook book(2, one_per_step);
  const int data = book.add({100, 100});
  book.rewind(data);
  Closure closure = closure_of(1, {data}, 7);
  book.lease(closure, 1);
  book.returned(closure, 1, result_of(7, {"at 7"}));
  const std::vector<Lease> position = book.position(data);

  PipelineBook later(2, one_per_step);
  const int again = later.add({100, 100});
  later.resume(again, position);
  Closure next = closure_of(1, {again}, 1);
  later.lease(next, 1);
  EXPECT_EQ(next.leases.at(0).rewinds, 1u);
  EXPECT_EQ(next.leases.at(0).first, 7u);
  EXPECT_EQ(next.leases.at(0).state, "at 7");
  EXPECT_THROW(later.resume(again, {}), Error);
}

TEST(PipelineBook, ThreadsShareFiniteDataExactly) {
  const int workers = 4;
  PipelineBook book(workers, one_per_step);
  const std::vector<std::int64_t> sizes = {100, 1000, 37, 0};
  const int data = book.add(sizes);
  std::atomic<std::uint64_t> next_id{1};
  std::mutex mutex;
  std::set<At> taken;
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      for (;;) {
        Closure closure = closure_of(next_id++, {data}, 3);
        try {
          book.lease(closure, worker);
        } catch (const Error&) {
          return;
        }
        const Lease& lease = closure.leases.at(0);
        const auto left = static_cast<std::uint64_t>(sizes[static_cast<std::size_t>(lease.pipeline)]) - lease.first;
        const std::uint64_t steps = std::min<std::uint64_t>(3, left);
        {
          std::lock_guard lock(mutex);
          for (std::uint64_t i = 0; i < steps; ++i) {
            EXPECT_TRUE(taken.emplace(lease.pipeline, lease.first + i).second) << "an element was lent twice";
          }
        }
        book.returned(closure, worker, result_of(static_cast<std::int64_t>(steps), {"state"}, steps < 3));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken.size(), 1137u);
}

}  // namespace
}  // namespace cohort::distribute::test
