#include "cohort/distribute/worker/reservation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <thread>

namespace cohort::distribute {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using Things = std::vector<Reservable*>;

bool soon(const std::atomic<bool>& flag) {
  for (int i = 0; i < 1000 && !flag; ++i) std::this_thread::sleep_for(5ms);
  return flag;
}

// Uses things on a thread of its own until it is told to leave. It is in the lines when it has been made.
class User {
 public:
  User(std::mutex& mutex, Things things, std::function<void()> enters = {})
      : things_(std::move(things)), thread_([this, &mutex, enters = std::move(enters)] {
          std::unique_lock lock(mutex);
          asked_ = true;
          const Reservation reservation(lock, things_);
          lock.unlock();
          if (enters) enters();
          inside_ = true;
          soon(leave_);
        }) {
    soon(asked_);
    const std::lock_guard after_it_waits(mutex);
  }
  ~User() { leave(); }
  bool is_inside() const { return inside_; }
  bool comes_inside() const { return soon(inside_); }
  void leave() {
    leave_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  const Things things_;
  std::atomic<bool> asked_ = false, inside_ = false, leave_ = false;
  std::thread thread_;
};

TEST(Reservation, WhoeverWantsOtherThingsDoesNotWait) {
  std::mutex mutex;
  std::array<Reservable, 4> things;
  User first(mutex, {&things[0], &things[1]}), second(mutex, {&things[2]}), third(mutex, {&things[3]});
  EXPECT_TRUE(first.comes_inside());
  EXPECT_TRUE(second.comes_inside());
  EXPECT_TRUE(third.comes_inside());
}

// One that wants much is not passed by those that want little of it.
TEST(Reservation, WhoeverWantsTheSameGoesInTheOrderOfAsking) {
  std::mutex mutex;
  std::array<Reservable, 2> things;
  std::vector<int> order;  // the things guard it: all want the second one
  User holder(mutex, {&things[0]});
  EXPECT_TRUE(holder.comes_inside());
  User both(mutex, {&things[0], &things[1]}, [&] { order.push_back(1); });
  User second(mutex, {&things[1]}, [&] { order.push_back(2); });
  User third(mutex, {&things[1]}, [&] { order.push_back(3); });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(both.is_inside() || second.is_inside() || third.is_inside());
  holder.leave();
  EXPECT_TRUE(both.comes_inside());
  EXPECT_FALSE(second.is_inside());
  both.leave();
  EXPECT_TRUE(second.comes_inside());
  second.leave();
  EXPECT_TRUE(third.comes_inside());
  third.leave();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(Reservation, ManyThreadsThatWantAnySetsNeverMeet) {
  constexpr int kThreads = 6, kRounds = 2000, kThings = 5;
  std::mutex mutex;
  std::array<Reservable, kThings> things;
  std::array<int, kThings> used{}, wanted{};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    std::mt19937 random(static_cast<unsigned>(t));
    std::vector<unsigned> sets(kRounds);
    for (unsigned& set : sets) set = random() % (1u << kThings);
    for (const unsigned set : sets) {
      for (int i = 0; i < kThings; ++i) wanted[static_cast<std::size_t>(i)] += set >> i & 1;
    }
    threads.emplace_back([&, sets = std::move(sets)] {
      for (const unsigned set : sets) {
        Things chosen;
        for (std::size_t i = 0; i < kThings; ++i) {
          if (set >> i & 1) chosen.push_back(&things[i]);
        }
        std::unique_lock lock(mutex);
        const Reservation reservation(lock, chosen);
        lock.unlock();
        for (std::size_t i = 0; i < kThings; ++i) {
          if (set >> i & 1) ++used[i];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(used, wanted);
}

}  // namespace
}  // namespace cohort::distribute
