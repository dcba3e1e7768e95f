#include "cohort/distribute/coordinator/closure_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "cohort/distribute/coordinator/worker_link.h"

namespace cohort::distribute::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::exception_ptr error(ErrorCode code, const std::string& text) { return std::make_exception_ptr(Error(code, text)); }

// Runs and gives back the error, which must come.
template <class F>
Error caught(F f) {
  try {
    f();
  } catch (const Error& thrown) {
    return thrown;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::Internal, "");
}

void finish(ClosureQueue& queue, Closure closure) {
  ClosureResult result{.steps = closure.steps};
  queue.mark_finished(closure, result);
}

void fail(ClosureQueue& queue, Closure closure, const std::string& text) {
  queue.mark_failed(closure, error(ErrorCode::InvalidArgument, text));
}

// What became of closures, by the name they were made with.
struct Fates {
  std::mutex mutex;
  std::map<std::string, std::string> of;

  Closure closure(const std::string& name) {
    Closure closure;
    closure.done = [this, name](ClosureResult&) { set(name, "done"); };
    closure.failed = [this, name](std::exception_ptr why) {
      set(name, code_of(why) == ErrorCode::Cancelled ? "cancelled" : text_of(why));
    };
    return closure;
  }
  void set(const std::string& name, const std::string& fate) {
    std::lock_guard lock(mutex);
    EXPECT_EQ(of.count(name), 0u) << name << " ended twice";
    of[name] = fate;
  }
};

TEST(ClosureQueue, GivesIdsThatGrowAndKeepsTheOrder) {
  ClosureQueue queue;
  for (std::uint64_t id = 1; id <= 3; ++id) EXPECT_EQ(queue.put({}), id);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    Closure closure = *queue.get();
    EXPECT_EQ(closure.id, id);
    finish(queue, std::move(closure));
  }
  EXPECT_TRUE(queue.done());
}

TEST(ClosureQueue, KnowsBelowWhichIdAllHaveEnded) {
  ClosureQueue queue;
  EXPECT_EQ(queue.all_done_below(), 1u);
  for (int i = 0; i < 4; ++i) queue.put({});
  Closure first = *queue.get(), second = *queue.get(), third = *queue.get();
  finish(queue, second);
  EXPECT_EQ(queue.all_done_below(), 1u);
  finish(queue, first);
  EXPECT_EQ(queue.all_done_below(), 3u);
  queue.put_back(third, {"worker:0", 1}, error(ErrorCode::Unavailable, "gone"));
  EXPECT_EQ(queue.all_done_below(), 3u);
  finish(queue, *queue.get());
  finish(queue, *queue.get());
  EXPECT_EQ(queue.all_done_below(), 5u);
}

TEST(ClosureQueue, PutsBackInFrontInTheOrderOfIds) {
  ClosureQueue queue;
  for (int i = 0; i < 6; ++i) queue.put({});
  Closure a = *queue.get(), b = *queue.get(), c = *queue.get(), d = *queue.get();
  a.leases = {{.dataset = 0, .first = 40}};
  const auto gone = error(ErrorCode::Unavailable, "gone");
  queue.put_back(a, {"worker:0", 1}, gone);
  queue.put_back(c, {"worker:0", 1}, gone);
  queue.put_back(b, {"worker:1", 2}, gone);
  queue.put_back(d);
  std::vector<std::uint64_t> ids;
  std::vector<int> attempts;
  for (int i = 0; i < 6; ++i) {
    Closure closure = *queue.get();
    ids.push_back(closure.id);
    attempts.push_back(closure.attempts);
    if (closure.id == 1) {
      ASSERT_EQ(closure.leases.size(), 1u);
      EXPECT_EQ(closure.leases[0].first, 40u);
    }
    finish(queue, std::move(closure));
  }
  EXPECT_THAT(ids, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(attempts, ElementsAre(1, 1, 1, 0, 0, 0));
}

TEST(ClosureQueue, PutWaitsWhileItIsFullAndPutBackDoesNot) {
  ClosureQueue queue({.capacity = 2});
  queue.put({});
  queue.put({});
  auto third = std::async(std::launch::async, [&] { return queue.put({}); });
  EXPECT_EQ(third.wait_for(30ms), std::future_status::timeout);
  Closure first = *queue.get();
  EXPECT_EQ(third.get(), 3u);
  queue.put_back(first, {"worker:0", 1}, error(ErrorCode::Unavailable, "gone"));
  for (int i = 0; i < 3; ++i) finish(queue, *queue.get());
  EXPECT_TRUE(queue.done());
}

TEST(ClosureQueue, PutOnAFullQueueGivesUpWhenNothingMoves) {
  ClosureQueue queue({.capacity = 2, .put_timeout = 100ms});
  for (int i = 0; i < 2; ++i) queue.put({});
  Closure first = *queue.get();
  queue.put({});
  const Error error = caught([&] { queue.put({}); });
  EXPECT_EQ(error.code(), ErrorCode::DeadlineExceeded);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("waits for=a worker that takes a closure"), HasSubstr("seconds without a change=0.1"),
                    HasSubstr("queued=2, capacity=2"), HasSubstr("in flight=[1]")));
  // The refused one is not there, the others are.
  finish(queue, std::move(first));
  for (int i = 0; i < 2; ++i) finish(queue, *queue.get());
  EXPECT_TRUE(queue.done());
}

TEST(ClosureQueue, PutWaitsOnAsLongAsClosuresEnd) {
  ClosureQueue queue({.capacity = 1, .put_timeout = 200ms});
  queue.put({});
  Closure first = *queue.get();
  queue.put({});
  auto third = std::async(std::launch::async, [&] { return queue.put({}); });
  std::this_thread::sleep_for(120ms);
  finish(queue, std::move(first));
  std::this_thread::sleep_for(120ms);
  finish(queue, *queue.get());
  EXPECT_EQ(third.get(), 3u);
}

TEST(ClosureQueue, AnErrorWakesAPutOnAFullQueue) {
  ClosureQueue queue({.capacity = 1});
  Fates fates;
  queue.put(fates.closure("a"));
  Closure first = *queue.get();
  queue.put(fates.closure("b"));
  auto third = std::async(std::launch::async, [&] { queue.put(fates.closure("c")); });
  EXPECT_EQ(third.wait_for(20ms), std::future_status::timeout);
  fail(queue, std::move(first), "worker:0: bad shape");
  EXPECT_THAT(caught([&] { third.get(); }).what(), HasSubstr("bad shape"));
  EXPECT_EQ(fates.of["a"], "worker:0: bad shape");
  EXPECT_EQ(fates.of["b"], "cancelled");
  EXPECT_EQ(fates.of.count("c"), 0u);
  EXPECT_TRUE(queue.done());
}

TEST(ClosureQueue, TheNextCallThrowsOnceNothingRunsThenItIsUsableAgain) {
  const std::vector<std::function<void(ClosureQueue&)>> calls = {[](ClosureQueue& queue) { queue.put({}); },
                                                                 [](ClosureQueue& queue) { queue.wait(); },
                                                                 [](ClosureQueue& queue) { queue.done(); }};
  for (const auto& call : calls) {
    ClosureQueue queue;
    Fates fates;
    std::atomic<int> interrupts{0};
    queue.set_interrupt([&] { ++interrupts; });
    for (const char* name : {"a", "b", "c", "d"}) queue.put(fates.closure(name));
    Closure a = *queue.get(), b = *queue.get(), c = *queue.get();
    fail(queue, std::move(a), "first");
    EXPECT_EQ(interrupts, 1);
    EXPECT_TRUE(queue.cancelling());
    auto caller = std::async(std::launch::async, [&] { return caught([&] { call(queue); }); });
    EXPECT_EQ(caller.wait_for(20ms), std::future_status::timeout) << "b and c still run";
    queue.mark_cancelled(b);
    finish(queue, std::move(c));
    const Error thrown = caller.get();
    EXPECT_EQ(thrown.code(), ErrorCode::InvalidArgument);
    EXPECT_STREQ(thrown.what(), "first");
    const std::map<std::string, std::string> expected = {
        {"a", "first"}, {"b", "cancelled"}, {"c", "done"}, {"d", "cancelled"}};
    EXPECT_EQ(fates.of, expected);
    EXPECT_FALSE(queue.cancelling());
    EXPECT_TRUE(queue.done());
    queue.put(fates.closure("e"));
    finish(queue, *queue.get());
    queue.wait();
    EXPECT_EQ(fates.of["e"], "done");
  }
}

TEST(ClosureQueue, TellsTheOtherErrorsWithTheFirst) {
  ClosureQueue queue;
  for (int i = 0; i < 4; ++i) queue.put({});
  Closure a = *queue.get(), b = *queue.get(), c = *queue.get(), d = *queue.get();
  fail(queue, std::move(a), "first");
  fail(queue, std::move(b), "second");
  fail(queue, std::move(c), "third");
  fail(queue, std::move(d), "second");
  const Error thrown = caught([&] { queue.wait(); });
  EXPECT_STREQ(thrown.what(), "first (and 3 more: second; third)");
  EXPECT_EQ(thrown.code(), ErrorCode::InvalidArgument);
}

TEST(ClosureQueue, KeepsTheTypeOfALostServer) {
  ClosureQueue queue;
  queue.put({});
  queue.put({});
  Closure a = *queue.get(), b = *queue.get();
  queue.mark_failed(a, std::make_exception_ptr(LostParameterServer("ps:1", "ps:1 is gone")));
  queue.mark_failed(b, error(ErrorCode::Internal, "something else"));
  try {
    queue.wait();
    FAIL();
  } catch (const LostParameterServer& lost) {
    EXPECT_EQ(lost.ps(), "ps:1");
  }
}

TEST(ClosureQueue, EveryoneWhoWaitsGetsTheError) {
  ClosureQueue queue;
  queue.put({});
  Closure a = *queue.get();
  std::vector<std::future<Error>> waiters;
  waiters.push_back(std::async(std::launch::async, [&] { return caught([&] { queue.wait(); }); }));
  waiters.push_back(std::async(std::launch::async, [&] { return caught([&] { queue.wait(); }); }));
  std::this_thread::sleep_for(30ms);
  waiters.push_back(std::async(std::launch::async, [&] { return caught([&] { queue.put({}); }); }));
  std::this_thread::sleep_for(30ms);
  fail(queue, std::move(a), "first");
  for (auto& waiter : waiters) EXPECT_STREQ(waiter.get().what(), "first");
  EXPECT_TRUE(queue.done());
}

TEST(ClosureQueue, PutWaitsWhileSomebodyJoins) {
  ClosureQueue queue;
  queue.put({});
  Closure a = *queue.get();
  auto join = std::async(std::launch::async, [&] { queue.wait(); });
  std::this_thread::sleep_for(30ms);
  auto put = std::async(std::launch::async, [&] { return queue.put({}); });
  EXPECT_EQ(put.wait_for(30ms), std::future_status::timeout);
  finish(queue, std::move(a));
  join.get();
  EXPECT_EQ(put.get(), 2u);
  finish(queue, *queue.get());
}

TEST(ClosureQueue, GivesUpWhatKillsItsWorkers) {
  ClosureQueue queue;
  Fates fates;
  queue.put(fates.closure("poison"));
  queue.put(fates.closure("innocent"));
  std::uint64_t incarnation = 0;
  for (const char* task : {"worker:0", "worker:2", "worker:1"}) {
    Closure closure = *queue.get();
    EXPECT_EQ(closure.id, 1u);
    queue.put_back(closure, {task, ++incarnation}, error(ErrorCode::Unavailable, "connection reset"));
  }
  const Error thrown = caught([&] { queue.wait(); });
  EXPECT_EQ(thrown.code(), ErrorCode::Aborted);
  EXPECT_THAT(thrown.what(),
              AllOf(HasSubstr("closure=1"), HasSubstr("worker:0, worker:2, worker:1"), HasSubstr("connection reset")));
  EXPECT_EQ(fates.of["innocent"], "cancelled");
}

TEST(ClosureQueue, CountsEveryIncarnationOnce) {
  ClosureQueue queue;
  Fates fates;
  queue.put(fates.closure("a"));
  const auto gone = error(ErrorCode::Unavailable, "gone");
  for (int i = 0; i < 10; ++i) queue.put_back(*queue.get(), {"worker:0", 7}, gone);
  queue.put_back(*queue.get(), {"worker:0", 8}, gone);
  Closure a = *queue.get();
  EXPECT_TRUE(queue.on_last_attempt(a));
  queue.is_alive(7);
  EXPECT_FALSE(queue.on_last_attempt(a));
  queue.put_back(a, {"worker:1", 9}, gone);
  finish(queue, *queue.get());
  queue.wait();
  EXPECT_EQ(fates.of["a"], "done");
}

TEST(ClosureQueue, SuspectsTravelAlone) {
  ClosureQueue queue;
  for (int i = 0; i < 10; ++i) queue.put({});
  Closure a = *queue.get();
  queue.put_back(a, {"worker:0", 1}, error(ErrorCode::Unavailable, "gone"));
  EXPECT_FALSE(queue.get_ahead(1, 1));
  a = *queue.get();
  EXPECT_TRUE(queue.get_ahead(1, 1));
}

TEST(ClosureQueue, LeavesWorkToIdleWorkers) {
  ClosureQueue queue;
  auto idle = std::async(std::launch::async, [&] { finish(queue, *queue.get()); });
  std::this_thread::sleep_for(30ms);
  queue.put({});
  // Whether or not the idle one has taken it yet, it is not there for another.
  EXPECT_FALSE(queue.get_ahead(1, 2));
  idle.get();
  for (int i = 0; i < 4; ++i) queue.put({});
  EXPECT_FALSE(queue.get_ahead(3, 2)) << "a third one only when each of the others could have two";
  EXPECT_TRUE(queue.get_ahead(2, 2));
  EXPECT_TRUE(queue.get_ahead(2, 2));
  EXPECT_FALSE(queue.get_ahead(2, 2));
  EXPECT_TRUE(queue.get_ahead(1, 2));
}

TEST(ClosureQueue, AnErrorOfDoneIsTheClosuresError) {
  ClosureQueue queue;
  Closure closure;
  closure.done = [](ClosureResult&) { throw Error(ErrorCode::DataLoss, "cannot be merged"); };
  closure.failed = [](std::exception_ptr) { FAIL() << "only one of the two is called"; };
  queue.put(closure);
  finish(queue, *queue.get());
  EXPECT_EQ(caught([&] { queue.wait(); }).code(), ErrorCode::DataLoss);
}

TEST(ClosureQueue, CancelDropsWhatWaitsAndAwaitsWhatRuns) {
  ClosureQueue queue;
  Fates fates;
  std::promise<void> told;
  queue.set_interrupt([&] { told.set_value(); });
  queue.put(fates.closure("a"));
  queue.put(fates.closure("b"));
  Closure a = *queue.get();
  auto cancel = std::async(std::launch::async, [&] { queue.cancel(); });
  told.get_future().get();
  EXPECT_EQ(cancel.wait_for(20ms), std::future_status::timeout);
  queue.mark_cancelled(a);
  cancel.get();
  const std::map<std::string, std::string> expected = {{"a", "cancelled"}, {"b", "cancelled"}};
  EXPECT_EQ(fates.of, expected);
  queue.put(fates.closure("c"));
  queue.drop();
  EXPECT_EQ(fates.of["c"], "cancelled");
  EXPECT_TRUE(queue.done());
}

TEST(ClosureQueue, StopEndsEveryWait) {
  ClosureQueue queue({.capacity = 1});
  Fates fates;
  queue.put(fates.closure("a"));
  Closure a = *queue.get();
  auto getter = std::async(std::launch::async, [&] { return queue.get().has_value(); });
  auto joiner = std::async(std::launch::async, [&] { return caught([&] { queue.wait(); }); });
  std::this_thread::sleep_for(30ms);
  queue.stop();
  EXPECT_FALSE(getter.get());
  EXPECT_EQ(joiner.get().code(), ErrorCode::Cancelled);
  EXPECT_EQ(caught([&] { queue.put({}); }).code(), ErrorCode::Cancelled);
  queue.put_back(a, {"worker:0", 1}, error(ErrorCode::Unavailable, "gone"));
  EXPECT_EQ(fates.of["a"], "cancelled");
}

// Program threads that schedule, join and ask; workers that finish, die and now and then fail: everything ends exactly
// once, and what every put gave an id is accounted for.
TEST(ClosureQueue, ManyThreadsLoseNothing) {
  ClosureQueue queue({.capacity = 50, .max_attempts = 1000});
  std::atomic<std::int64_t> queued{0}, ended{0}, errors{0};
  std::vector<std::thread> workers, programs;
  for (unsigned worker = 0; worker < 4; ++worker) {
    workers.emplace_back([&, worker] {
      std::mt19937 random(worker);
      while (std::optional<Closure> closure = queue.get()) {
        std::vector<Closure> mine = {std::move(*closure)};
        while (mine.size() < 3) {
          std::optional<Closure> more = queue.get_ahead(mine.size(), 4);
          if (!more) break;
          mine.push_back(std::move(*more));
        }
        const auto fate = random() % 100;
        if (fate < 10) {
          const LostIncarnation lost{"worker:" + std::to_string(worker), random()};
          for (Closure& each : mine) queue.put_back(std::move(each), lost, error(ErrorCode::Unavailable, "gone"));
          continue;
        }
        for (Closure& each : mine) {
          if (fate == 10) {
            fail(queue, std::move(each), "failed");
          } else {
            finish(queue, std::move(each));
          }
        }
      }
    });
  }
  for (unsigned program = 0; program < 3; ++program) {
    programs.emplace_back([&, program] {
      std::mt19937 random(100 + program);
      for (int i = 0; i < 1000; ++i) {
        Closure closure;
        closure.done = [&](ClosureResult&) { ++ended; };
        closure.failed = [&](std::exception_ptr) { ++ended; };
        try {
          if (random() % 50 == 0) queue.wait();
          if (random() % 200 == 0) queue.cancel();
          queue.put(std::move(closure));
          ++queued;
        } catch (const Error&) {
          ++errors;
        }
      }
    });
  }
  for (std::thread& program : programs) program.join();
  try {
    queue.wait();
  } catch (const Error&) {
    queue.wait();
  }
  EXPECT_EQ(queued, ended);
  EXPECT_GT(errors, 0);
  queue.stop();
  for (std::thread& worker : workers) worker.join();
}

Closure in_group(Closure closure, std::shared_ptr<ClosureGroup> group) {
  closure.group = std::move(group);
  return closure;
}

TEST(ClosureQueueGroups, AnErrorEndsItsOwnGroupAlone) {
  ClosureQueue queue;
  Fates fates;
  const auto one = std::make_shared<ClosureGroup>(), other = std::make_shared<ClosureGroup>();
  for (const char* name : {"a", "b", "c"}) {
    queue.put(in_group(fates.closure(std::string("one ") + name), one));
    queue.put(in_group(fates.closure(std::string("other ") + name), other));
  }
  queue.put(fates.closure("neither"));
  Closure one_a = *queue.get(), other_a = *queue.get();
  fail(queue, one_a, "worker:0: bad shape");
  EXPECT_EQ(fates.of["one b"], "cancelled");
  EXPECT_EQ(fates.of["one c"], "cancelled");
  EXPECT_TRUE(queue.cancelling(one_a));
  EXPECT_FALSE(queue.cancelling(other_a));
  finish(queue, std::move(other_a));
  for (int i = 0; i < 3; ++i) finish(queue, *queue.get());
  queue.wait(other);
  queue.wait();
  EXPECT_THAT(caught([&] { queue.wait(one); }).what(), HasSubstr("bad shape"));
  EXPECT_TRUE(queue.done(one));
  for (const char* name : {"other a", "other b", "other c", "neither"}) EXPECT_EQ(fates.of[name], "done") << name;
  EXPECT_FALSE(queue.busy());
  queue.put(in_group(fates.closure("again"), one));
  finish(queue, *queue.get());
  queue.wait(one);
}

TEST(ClosureQueueGroups, ACancelledGroupWaitsForItsOwnOnly) {
  ClosureQueue queue;
  Fates fates;
  int interrupted = 0, fenced = 0;
  queue.set_interrupt([&] { ++interrupted; });
  queue.set_fence([&] { ++fenced; });
  const auto one = std::make_shared<ClosureGroup>(), other = std::make_shared<ClosureGroup>();
  queue.put(in_group(fates.closure("other"), other));
  queue.put(in_group(fates.closure("one"), one));
  Closure running = *queue.get();
  const std::uint64_t before = queue.interrupts();
  queue.cancel(one);  // although something of another group runs
  EXPECT_EQ(fates.of["one"], "cancelled");
  EXPECT_EQ(interrupted, 1);
  EXPECT_EQ(fenced, 1);
  EXPECT_FALSE(queue.awaits_cancelled());
  EXPECT_TRUE(queue.interrupted_since(before));
  EXPECT_FALSE(queue.interrupted_since(queue.interrupts()));
  // Its worker cannot tell whom the interrupt was for: it comes again, with its id and as no attempt.
  queue.put_back(std::move(running));
  running = *queue.get();
  EXPECT_EQ(running.id, 1u);
  EXPECT_EQ(running.attempts, 0);
  finish(queue, std::move(running));
  queue.wait(other);
}

// An error is interrupted for at once and fenced when somebody comes for it: a closure that began between the two may
// be refused by the fence, and comes again.
TEST(ClosureQueueGroups, AFenceCountsAsAnInterrupt) {
  ClosureQueue queue;
  Fates fates;
  std::uint64_t before = 0;
  queue.set_fence([&] { EXPECT_TRUE(queue.interrupted_since(before)) << "as soon as it is under way"; });
  const auto one = std::make_shared<ClosureGroup>(), other = std::make_shared<ClosureGroup>();
  queue.put(in_group(fates.closure("one"), one));
  Closure broken = *queue.get();
  fail(queue, broken, "bad shape");
  before = queue.interrupts();
  EXPECT_FALSE(queue.interrupted_since(before));
  queue.put(in_group(fates.closure("other"), other));
  Closure running = *queue.get();
  EXPECT_THAT(caught([&] { queue.wait(one); }).what(), HasSubstr("bad shape"));
  EXPECT_TRUE(queue.interrupted_since(before));
  queue.put_back(std::move(running));
  finish(queue, *queue.get());
  queue.wait(other);
  EXPECT_EQ(fates.of["other"], "done");
}

TEST(ClosureQueueGroups, WhoPutsIsHeldUpByAJoinOfItsOwnGroupOnly) {
  ClosureQueue queue;
  const auto one = std::make_shared<ClosureGroup>(), other = std::make_shared<ClosureGroup>();
  queue.put(in_group({}, one));
  auto join = std::async(std::launch::async, [&] { queue.wait(one); });
  EXPECT_EQ(join.wait_for(20ms), std::future_status::timeout);
  EXPECT_EQ(queue.put(in_group({}, other)), 2u);
  auto held_up = std::async(std::launch::async, [&] { return queue.put(in_group({}, one)); });
  EXPECT_EQ(held_up.wait_for(20ms), std::future_status::timeout);
  finish(queue, *queue.get());
  join.get();
  EXPECT_EQ(held_up.get(), 3u);
  for (int i = 0; i < 2; ++i) finish(queue, *queue.get());
}

TEST(ClosureQueueGroups, AnErrorOfNoSingleClosureReachesAllThatHaveAny) {
  ClosureQueue queue;
  Fates fates;
  const auto one = std::make_shared<ClosureGroup>(), other = std::make_shared<ClosureGroup>();
  queue.put(in_group(fates.closure("one"), one));
  queue.put(in_group(fates.closure("other"), other));
  queue.fail(error(ErrorCode::Unavailable, "no worker is left"));
  for (const auto& group : {one, other}) {
    EXPECT_THAT(caught([&] { queue.wait(group); }).what(), HasSubstr("no worker is left"));
  }
  EXPECT_TRUE(queue.done()) << "nothing of it was waiting for a worker";
  queue.fail(error(ErrorCode::Aborted, "another chief"));
  for (const std::shared_ptr<ClosureGroup>& group : {std::shared_ptr<ClosureGroup>(), one, other}) {
    EXPECT_THAT(caught([&] { queue.done(group); }).what(), HasSubstr("another chief"));
  }
}

}  // namespace
}  // namespace cohort::distribute::test
