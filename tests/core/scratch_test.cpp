#include "cohort/core/scratch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "cohort/core/device.h"
#include "tests/support/allocations.h"

namespace cohort {
namespace {

TEST(Scratch, GivesAThreadTheSameAlignedMemoryAgain) {
  static Scratch scratch;
  auto* memory = scratch.get<double>(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % Device::kAlignment, 0u);
  std::memset(memory, 1, 100 * sizeof(double));
  EXPECT_EQ(scratch.get<double>(7), memory);
  auto* larger = scratch.get<double>(1000);
  std::memset(larger, 1, 1000 * sizeof(double));
  EXPECT_EQ(scratch.get<double>(100), larger);
}

TEST(Scratch, KeepsPurposesAndThreadsApart) {
  static Scratch one, other;
  int* mine = one.get<int>(10);
  EXPECT_NE(mine, other.get<int>(10));
  int* theirs = nullptr;
  std::thread([&] { theirs = one.get<int>(10); }).join();
  EXPECT_NE(mine, theirs);
  EXPECT_EQ(one.get<int>(10), mine);
}

TEST(Scratch, MemoryOfAThreadThatEndedServesTheNext) {
  static Scratch scratch;
  void *first = nullptr, *second = nullptr;
  std::thread([&] { first = scratch.bytes(500); }).join();
  std::thread([&] { second = scratch.bytes(500); }).join();
  EXPECT_EQ(first, second);
}

// What a thread needs is made when it is announced, or when another thread first needs as much.
TEST(Scratch, AThreadThatWasAnnouncedAllocatesNothing) {
  if (!test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  static Scratch before, after;
  before.bytes(1000);
  std::atomic<int> stage{0};
  std::uint64_t allocated = 0;
  std::thread late([&] {
    const ComputeThread computing;
    while (stage != 1) std::this_thread::yield();
    const std::uint64_t start = test::allocations();
    std::memset(before.bytes(900), 1, 900);
    std::memset(after.bytes(2000), 1, 2000);
    allocated = test::allocations() - start;
  });
  ComputeThread::announce();
  after.bytes(2000);
  stage = 1;
  late.join();
  EXPECT_EQ(allocated, 0u);
}

TEST(Scratch, ThreadsThatAskAtOnceHaveMemoryOfTheirOwn) {
  static Scratch scratch;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int size = 1; size < 300; ++size) {
        int* memory = scratch.get<int>(size);
        for (int i = 0; i < size; ++i) memory[i] = t;
        std::this_thread::yield();
        for (int i = 0; i < size; ++i) wrong += memory[i] != t;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace cohort
