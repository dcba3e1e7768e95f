// Sums of buffers that ranks read where they lie, and the memory in which they do.
#include "cohort/distribute/collective/mapped_sum.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/distribute/collective/ranks.h"

namespace cohort::distribute::collective::test {
namespace {

using cohort::test::error_of;

// Of the heap that other processes see.
class SharedBytes {
 public:
  explicit SharedBytes(std::size_t bytes) : bytes_(bytes), memory_(SharedHeap::of_process()->take(bytes)) {}
  ~SharedBytes() { SharedHeap::of_process()->give_back(memory_, bytes_); }
  SharedBytes(const SharedBytes&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(memory_); }

 private:
  const std::size_t bytes_;
  void* const memory_;
};

// Sums of these depend on the order.
template <class T>
void write_numbers(T* to, std::int64_t count, int rank, int round = 0) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<T>(1.0f / static_cast<float>(1 + (i * 7 + rank * 13 + round * 5) % 1009));
  }
}

// What all ranks have after their sum; `is_shared` tells of each rank whether others may read its buffer.
template <class T, class IsShared>
std::vector<std::vector<T>> sums_of(int size, const char* transport, std::int64_t count, const IsShared& is_shared) {
  Ranks ranks = make_local_communicators(size, {.transport = transport});
  std::vector<std::vector<T>> sums(ranks.size(), std::vector<T>(static_cast<std::size_t>(count)));
  const std::vector<std::string> errors = errors_of_ranks(ranks, [&](Communicator& communicator) {
    std::vector<T>& own = sums[static_cast<std::size_t>(communicator.rank())];
    const SharedBytes shared(own.size() * sizeof(T));
    T* const values = is_shared(communicator.rank()) ? reinterpret_cast<T*>(shared.data()) : own.data();
    write_numbers(values, count, communicator.rank());
    communicator.all_reduce(values, count, DTypeOf<T>::value);
    if (values != own.data()) std::copy_n(values, count, own.data());
  });
  EXPECT_EQ(errors, std::vector<std::string>(ranks.size()));
  return sums;
}

template <class T>
void expect_the_sums_of_a_ring(int size, std::int64_t count) {
  const auto ring = sums_of<T>(size, "tcp", count, [](int) { return false; });
  EXPECT_EQ(sums_of<T>(size, "shm", count, [](int) { return true; }), ring) << size << " ranks, " << count;
  // One buffer that nobody else sees is enough for all to take another way.
  EXPECT_EQ(sums_of<T>(size, "shm", count, [&](int rank) { return rank != size - 1; }), ring);
}

TEST(MappedSum, HasTheBitsOfARing) {
  for (const int size : {2, 3, 4}) {
    for (const std::int64_t count : {16'385, 300'001}) {
      expect_the_sums_of_a_ring<float>(size, count);
      expect_the_sums_of_a_ring<double>(size, count);
    }
    expect_the_sums_of_a_ring<std::int32_t>(size, 40'001);
  }
}

// Whoever has its sum may write over its buffer: nobody reads it any more.
TEST(MappedSum, LeavesTheBufferToItsOwner) {
  constexpr std::int64_t kCount = 100'003;
  Ranks ranks = make_local_communicators(3, {.transport = "shm"});
  std::vector<std::vector<float>> numbers(3, std::vector<float>(kCount));
  const std::vector<std::string> errors = errors_of_ranks(ranks, [&](Communicator& communicator) {
    const SharedBytes shared(kCount * sizeof(float));
    auto* const values = reinterpret_cast<float*>(shared.data());
    std::vector<float> expected(kCount), other(kCount);
    for (int round = 0; round < 30; ++round) {
      // As a block is added up by its rank: those behind it first.
      const BufferBlocks blocks = BufferBlocks::shared(kCount, 3, DType::Float32, kCount * sizeof(float));
      for (int block = 0; block < 3; ++block) {
        const std::size_t first = blocks.piece(block, 0).offset / sizeof(float);
        const std::size_t end = first + blocks.piece(block, 0).bytes / sizeof(float);
        std::fill(expected.begin() + static_cast<std::ptrdiff_t>(first),
                  expected.begin() + static_cast<std::ptrdiff_t>(end), 0.0f);
        for (int step = 1; step <= 3; ++step) {
          write_numbers(other.data(), kCount, (block + step) % 3, round);
          for (std::size_t i = first; i < end; ++i) expected[i] += other[i];
        }
      }
      write_numbers(values, kCount, communicator.rank(), round);
      communicator.all_reduce(values, kCount, DType::Float32);
      ASSERT_EQ(std::memcmp(values, expected.data(), kCount * sizeof(float)), 0) << "round " << round;
    }
  });
  EXPECT_EQ(errors, std::vector<std::string>(3));
}

TEST(SharedHeap, GivesAnewWhatCameBack) {
  SharedHeap& heap = *SharedHeap::of_process();
  constexpr std::size_t kBytes = std::size_t{1} << 30;  // more than there is between blocks; little of it is used
  void* const first = heap.take(kBytes);
  void* const second = heap.take(kBytes);
  void* const third = heap.take(kBytes);
  ASSERT_TRUE(first && second && third);
  std::memset(first, 1, 4096);
  EXPECT_TRUE(heap.give_back(first, kBytes));
  EXPECT_TRUE(heap.give_back(third, kBytes));
  EXPECT_TRUE(heap.give_back(second, kBytes));
  // What lies side by side is one again, of memory that the system has had back.
  auto* const joined = static_cast<const char*>(heap.take(3 * kBytes));
  EXPECT_EQ(joined, first);
  EXPECT_EQ(joined[0], 0);
  EXPECT_TRUE(heap.give_back(const_cast<char*>(joined), 3 * kBytes));
}

TEST(SharedHeap, KnowsItsOwn) {
  SharedHeap& heap = *SharedHeap::of_process();
  const SharedBytes block(2 << 20);
  EXPECT_TRUE(heap.place_of(block.data() + 100, 1000));
  std::vector<char> elsewhere(1000);
  EXPECT_FALSE(heap.place_of(elsewhere.data(), elsewhere.size()));
  EXPECT_FALSE(heap.give_back(elsewhere.data(), elsewhere.size()));
  EXPECT_FALSE(heap.place_of(block.data(), std::numeric_limits<std::size_t>::max()));
  EXPECT_EQ(heap.take(std::size_t{1} << 40), nullptr);
}

TEST(PeerHeap, ShowsWhatItsOwnerWrites) {
  const SharedBytes block(2 << 20);
  block.data()[17] = std::byte{42};
  const std::unique_ptr<PeerHeap> peer = PeerHeap::open(SharedHeap::of_process()->name());
  ASSERT_TRUE(peer);
  const std::uint64_t place = *SharedHeap::of_process()->place_of(block.data(), 2 << 20);
  EXPECT_EQ(peer->at(place, 2 << 20)[17], std::byte{42});
  block.data()[17] = std::byte{43};
  EXPECT_EQ(peer->at(place, 2 << 20)[17], std::byte{43});
}

// Places come from another process.
TEST(PeerHeap, HasNothingBeyondItsEnd) {
  const std::unique_ptr<PeerHeap> peer = PeerHeap::open(SharedHeap::of_process()->name());
  ASSERT_TRUE(peer);
  constexpr std::uint64_t kFar = std::uint64_t{1} << 34;
  EXPECT_TRUE(peer->at(kFar - 8, 8));
  EXPECT_FALSE(peer->at(kFar - 8, 9));
  EXPECT_FALSE(peer->at(kFar + 1, 0));
  EXPECT_FALSE(peer->at(std::numeric_limits<std::uint64_t>::max() - 4, 8));
}

TEST(PeerHeap, IsOpenedByItsNameAlone) {
  std::string name = SharedHeap::of_process()->name();
  name.back() = name.back() == '0' ? '1' : '0';
  for (const std::string& other : {name, std::string(), std::string("1/2/3"), std::string("0/0/0")}) {
    EXPECT_FALSE(PeerHeap::open(other)) << other;
  }
}

}  // namespace
}  // namespace cohort::distribute::collective::test
