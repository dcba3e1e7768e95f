#include "cohort/core/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "cohort/core/allocator.h"
#include "cohort/core/device_memory.h"

namespace cohort {
namespace {

std::atomic<int> taken_from_system{0};

void* counting_source(std::size_t bytes) {
  ++taken_from_system;
  return ::operator new(bytes);
}

// The pools of devices live as long as the process; this one's blocks are freed by hand.
class MemoryPoolTest : public testing::Test {
 protected:
  MemoryPoolTest() { taken_from_system = 0; }
  ~MemoryPoolTest() override {
    for (void* block : all_) ::operator delete(block);
  }
  void* take(std::size_t bytes) {
    void* memory = pool_.allocate(bytes);
    all_.insert(memory);
    return memory;
  }
  MemoryPool pool_{counting_source};
  std::set<void*> all_;
};

TEST_F(MemoryPoolTest, HandsFreedBlocksOutAgain) {
  void* first = take(1000);
  pool_.deallocate(first, 1000);
  EXPECT_EQ(take(1001), first) << "the same size class";
  EXPECT_EQ(taken_from_system, 1);
  void* second = take(1000);
  EXPECT_NE(second, first);
  EXPECT_NE(take(100000), first);
}

TEST_F(MemoryPoolTest, SizeClassesHoldTheRequestAndWasteAtMostAQuarter) {
  std::size_t before = 0;
  for (std::size_t bytes = 0; bytes < 10000; ++bytes) {
    const std::size_t size = MemoryPool::class_size(bytes);
    ASSERT_GE(size, bytes);
    ASSERT_GE(size, before);
    ASSERT_EQ(MemoryPool::class_size(size), size) << "a block is taken back into the class it came from";
    ASSERT_LE(size, std::max<std::size_t>(64, bytes + bytes / 4));
    before = size;
  }
  for (int shift = 14; shift < 47; ++shift) {
    for (std::int64_t offset : {-1, 0, 1}) {
      const std::size_t bytes = (std::size_t{1} << shift) + static_cast<std::size_t>(offset);
      ASSERT_GE(MemoryPool::class_size(bytes), bytes);
      ASSERT_LE(MemoryPool::class_size(bytes), bytes + bytes / 4);
    }
  }
}

TEST_F(MemoryPoolTest, ServesThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::mutex mutex;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        void* memory = pool_.allocate(256);
        std::memset(memory, t, 256);
        for (int at = 0; at < 256; at += 17) ASSERT_EQ(static_cast<unsigned char*>(memory)[at], t);
        {
          std::lock_guard lock(mutex);
          all_.insert(memory);
        }
        pool_.deallocate(memory, 256);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(taken_from_system, 4);
}

std::atomic<std::int64_t> lent_by_system{0};

void* lending_source(std::size_t bytes) {
  lent_by_system += static_cast<std::int64_t>(bytes);
  return ::operator new(bytes);
}

void lending_sink(void* memory, std::size_t bytes) {
  lent_by_system -= static_cast<std::int64_t>(bytes);
  ::operator delete(memory);
}

constexpr std::size_t kMega = std::size_t{1} << 20;

class GivingBackTest : public testing::Test {
 protected:
  GivingBackTest() { lent_by_system = 0; }
  ~GivingBackTest() override {
    pool_.give_back_idle();
    pool_.give_back_idle();
    EXPECT_EQ(lent_by_system, 0);
  }
  void use(const std::vector<std::size_t>& sizes) {
    std::vector<void*> blocks;
    for (const std::size_t bytes : sizes) blocks.push_back(pool_.allocate(bytes));
    for (std::size_t i = 0; i < sizes.size(); ++i) pool_.deallocate(blocks[i], sizes[i]);
  }
  MemoryPool pool_{lending_source, lending_sink};
};

TEST_F(GivingBackTest, LargeBlocksThatNobodyAskedForSinceTheLastLookGoBack) {
  use({kMega, kMega, kMega, 5 * kMega});
  EXPECT_EQ(lent_by_system, 8 * static_cast<std::int64_t>(kMega));
  pool_.give_back_idle();
  EXPECT_EQ(lent_by_system, 8 * static_cast<std::int64_t>(kMega)) << "all of them were used since then";
  use({kMega, kMega});
  pool_.give_back_idle();
  EXPECT_EQ(lent_by_system, 2 * static_cast<std::int64_t>(kMega));
  for (int step = 0; step < 10; ++step) {
    use({kMega, kMega});
    pool_.give_back_idle();
    EXPECT_EQ(lent_by_system, 2 * static_cast<std::int64_t>(kMega)) << "a steady state keeps what it needs";
  }
}

TEST_F(GivingBackTest, AClassJustBelowALargeSizeIsTheLargeOne) {
  use({kMega - 1});
  pool_.give_back_idle();
  pool_.give_back_idle();
  EXPECT_EQ(lent_by_system, 0);
}

TEST_F(GivingBackTest, SizesThatNeverComeAgainDoNotPileUp) {
  for (std::size_t mega = 100; mega < 2000; mega += 200) {
    use({mega * kMega});
    EXPECT_LE(lent_by_system, static_cast<std::int64_t>((1024 + mega * 5 / 4) * kMega));
  }
}

TEST_F(GivingBackTest, IsDoneBesideThreadsThatUseThePool) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const std::size_t bytes = kMega * static_cast<std::size_t>(1 + (i + t) % 4);
        auto* memory = static_cast<unsigned char*>(pool_.allocate(bytes));
        memory[0] = memory[bytes - 1] = static_cast<unsigned char>(t);
        if (i % 7 == 0) pool_.give_back_idle();
        ASSERT_EQ(memory[0], t);
        ASSERT_EQ(memory[bytes - 1], t);
        pool_.deallocate(memory, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Buffer, IsAlignedAndReturnsToItsPool) {
  const void* before = nullptr;
  for (std::size_t bytes : {1u, 63u, 64u, 65u, 4097u}) {
    const Owned<Buffer> buffer = Buffer::allocate(cpu(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % Device::kAlignment, 0u);
    EXPECT_EQ(buffer->bytes(), bytes);
    std::memset(buffer->data(), 1, bytes);
  }
  {
    const Owned<Buffer> buffer = Buffer::allocate(cpu(), 123456);
    before = buffer->data();
  }
  EXPECT_EQ(Buffer::allocate(cpu(), 123456)->data(), before);
}

TEST(Buffer, LivesAsLongAsItsLastOwner) {
  int released = 0;
  int memory = 0;
  Owned<Buffer> first = Buffer::borrow(cpu(), &memory, sizeof(memory), [&] { ++released; });
  EXPECT_TRUE(first->unique());
  Owned<Buffer> second = first;
  EXPECT_FALSE(first->unique());
  first = Owned<Buffer>();
  EXPECT_EQ(released, 0);
  second = Owned<Buffer>();
  EXPECT_EQ(released, 1);
}

TEST(Buffer, OfNoBytesIsUsable) {
  const Owned<Buffer> a = Buffer::allocate(default_device(), 0), b = Buffer::allocate(default_device(), 0);
  EXPECT_NE(a->data(), b->data());
}

TEST_F(MemoryPoolTest, CountsWhatIsInUse) {
  EXPECT_EQ(pool_.bytes_in_use(), 0u);
  void* small = take(100);
  void* large = take(MemoryPool::kLarge);
  EXPECT_EQ(pool_.bytes_in_use(), MemoryPool::class_size(100) + MemoryPool::kLarge);
  pool_.deallocate(small, 100);
  EXPECT_EQ(pool_.bytes_in_use(), MemoryPool::kLarge);
  take(100);
  pool_.deallocate(large, MemoryPool::kLarge);
  EXPECT_EQ(pool_.bytes_in_use(), MemoryPool::class_size(100));
}

TEST(Buffer, OfTheCpuIsCounted) {
  constexpr std::size_t kBytes = std::size_t{1} << 28, kOfOthers = std::size_t{1} << 20;  // who come and go meanwhile
  const std::size_t before = device_memory(cpu()).current;
  const Owned<Buffer> buffer = Buffer::allocate(cpu(), kBytes);
  EXPECT_GE(device_memory(cpu()).current + kOfOthers, before + kBytes);
  EXPECT_EQ(device_memory(cpu()).peak, 0u);
}

}  // namespace
}  // namespace cohort
