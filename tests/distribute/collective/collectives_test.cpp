#include <gtest/gtest.h>

#include <cstring>

#include "cohort/distribute/collective/communicator.h"
#include "tests/distribute/collective/ranks.h"
#include "tests/support/patience.h"

namespace cohort::distribute::collective::test {
namespace {

constexpr DType kTypes[] = {DType::Float32,  DType::Float64, DType::Float16,
                            DType::BFloat16, DType::Int32,   DType::Int64};
constexpr std::int64_t kCounts[] = {0, 1, 37, 16'385, (1 << 18) + 3};

using Bytes = std::vector<std::byte>;

// Small whole numbers, which every type adds up exactly in every order.
template <class T>
T whole_number(int rank, std::int64_t index) {
  return static_cast<T>(static_cast<float>((rank + 1) * (index % 5) - index % 3));
}

template <class Value>
Bytes values_of(DType dtype, std::int64_t count, const Value& value) {
  Bytes bytes(static_cast<std::size_t>(count) * size_of(dtype));
  visit_dtype(dtype, [&](auto example) {
    using T = decltype(example);
    for (std::int64_t i = 0; i < count; ++i) {
      const T one = static_cast<T>(value(i));
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &one, sizeof one);
    }
  });
  return bytes;
}

Bytes of_rank(DType dtype, std::int64_t count, int rank, std::int64_t first = 0) {
  return values_of(dtype, count, [&](std::int64_t i) { return whole_number<float>(rank, first + i); });
}

Bytes sum_of_ranks(DType dtype, std::int64_t count, int size, std::int64_t first = 0) {
  return values_of(dtype, count, [&](std::int64_t i) {
    float sum = 0;
    for (int rank = 0; rank < size; ++rank) sum += whole_number<float>(rank, first + i);
    return sum;
  });
}

struct Case {
  int size;
  const char* transport;
};

class Collectives : public testing::TestWithParam<Case> {
 protected:
  int size() const { return GetParam().size; }
  Ranks ranks_ = make_local_communicators(GetParam().size, {.transport = GetParam().transport});

  // On all ranks, for all types and counts, each a call.
  template <class Run>
  void on_all(const Run& run) {
    const std::vector<std::string> errors = errors_of_ranks(ranks_, [&](Communicator& communicator) {
      for (const DType dtype : kTypes) {
        for (const std::int64_t count : kCounts) run(communicator, dtype, count);
      }
    });
    EXPECT_EQ(errors, std::vector<std::string>(ranks_.size()));
  }
};

TEST_P(Collectives, TakeTheAskedTransport) {
  const std::string asked = GetParam().transport;
  const std::string expected = asked == "shm" ? "shared memory" : asked == "tcp" ? "TCP" : "gRPC";
  for (const auto& communicator : ranks_) {
    for (int rank = 0; rank < size(); ++rank) {
      EXPECT_EQ(communicator->transport(rank), rank == communicator->rank() ? "" : expected);
    }
  }
}

TEST_P(Collectives, AllReduceAddsUp) {
  on_all([&](Communicator& communicator, DType dtype, std::int64_t count) {
    Bytes values = of_rank(dtype, count, communicator.rank());
    communicator.all_reduce(values.data(), count, dtype);
    EXPECT_TRUE(values == sum_of_ranks(dtype, count, size())) << to_string(dtype) << " " << count;
  });
}

TEST_P(Collectives, ReduceScatterGivesEachItsSum) {
  on_all([&](Communicator& communicator, DType dtype, std::int64_t count) {
    const Bytes all = of_rank(dtype, count * size(), communicator.rank());
    Bytes mine(static_cast<std::size_t>(count) * size_of(dtype));
    communicator.reduce_scatter(all.data(), mine.data(), count, dtype);
    EXPECT_TRUE(mine == sum_of_ranks(dtype, count, size(), communicator.rank() * count))
        << to_string(dtype) << " " << count;
    EXPECT_TRUE(all == of_rank(dtype, count * size(), communicator.rank()));
  });
}

TEST_P(Collectives, AllGatherKeepsTheOrderOfRanks) {
  on_all([&](Communicator& communicator, DType dtype, std::int64_t count) {
    const Bytes mine = of_rank(dtype, count, communicator.rank());
    Bytes all(mine.size() * static_cast<std::size_t>(size()));
    communicator.all_gather(mine.data(), all.data(), count, dtype);
    Bytes expected;
    for (int rank = 0; rank < size(); ++rank) {
      const Bytes one = of_rank(dtype, count, rank);
      expected.insert(expected.end(), one.begin(), one.end());
    }
    EXPECT_TRUE(all == expected) << to_string(dtype) << " " << count;
  });
}

TEST_P(Collectives, BroadcastComesFromAnyRoot) {
  on_all([&](Communicator& communicator, DType dtype, std::int64_t count) {
    const int root = static_cast<int>((count + static_cast<int>(dtype)) % size());
    Bytes values = of_rank(dtype, count, communicator.rank());
    communicator.broadcast(values.data(), count, dtype, root);
    EXPECT_TRUE(values == of_rank(dtype, count, root)) << to_string(dtype) << " " << count << " from " << root;
  });
}

// A block of two is larger than what a channel takes before something is received.
TEST_P(Collectives, LongBuffersGoRoundInParts) {
  constexpr std::size_t kLong = 5'000'003;
  const std::vector<std::string> errors = errors_of_ranks(ranks_, [&](Communicator& communicator) {
    std::vector<std::int32_t> values(kLong), expected(kLong);
    for (std::size_t i = 0; i < kLong; ++i) {
      values[i] = static_cast<std::int32_t>(i) + communicator.rank();
      expected[i] = static_cast<std::int32_t>(i) * size() + size() * (size() - 1) / 2;
    }
    communicator.all_reduce(values.data(), kLong, DType::Int32);
    EXPECT_TRUE(values == expected);
  });
  EXPECT_EQ(errors, std::vector<std::string>(ranks_.size()));
}

TEST_P(Collectives, NobodyPassesABarrierBeforeAllHaveCome) {
  std::atomic<int> come = 0;
  const std::vector<std::string> errors = errors_of_ranks(ranks_, [&](Communicator& communicator) {
    for (int round = 1; round <= 50; ++round) {
      ++come;
      communicator.barrier();
      EXPECT_GE(come, round * size());
      communicator.barrier();
    }
  });
  EXPECT_EQ(errors, std::vector<std::string>(ranks_.size()));
}

// Sums of these depend on the order.
Bytes rounded_numbers(DType dtype, std::int64_t count, int rank) {
  return values_of(dtype, count,
                   [&](std::int64_t i) { return 1.0f / static_cast<float>(1 + (i * 7 + rank * 13) % 1009); });
}

TEST_P(Collectives, AllRanksAndAllRunsHaveTheSameBits) {
  for (const DType dtype : {DType::Float32, DType::Float16}) {
    for (const std::int64_t count : {1000, 300'001}) {
      std::vector<Bytes> results(2 * ranks_.size());
      for (std::size_t run = 0; run < 2; ++run) {
        const std::vector<std::string> errors = errors_of_ranks(ranks_, [&](Communicator& communicator) {
          Bytes values = rounded_numbers(dtype, count, communicator.rank());
          communicator.all_reduce(values.data(), count, dtype);
          results[run * ranks_.size() + static_cast<std::size_t>(communicator.rank())] = std::move(values);
        });
        EXPECT_EQ(errors, std::vector<std::string>(ranks_.size()));
      }
      for (const Bytes& result : results) EXPECT_TRUE(result == results.front()) << to_string(dtype) << " " << count;
    }
  }
}

// Through shared memory they take another way than round a ring.
TEST(CollectivesOfAllTransports, GiveTheSameBits) {
  for (const int size : {2, 3, 4}) {
    for (const DType dtype : {DType::Float32, DType::BFloat16}) {
      for (const std::int64_t count : {40'001, 1'300'007}) {
        std::vector<Bytes> results;
        for (const char* transport : {"tcp", "shm"}) {
          Ranks ranks = make_local_communicators(size, {.transport = transport});
          Bytes sums;
          const std::vector<std::string> errors = errors_of_ranks(ranks, [&](Communicator& communicator) {
            Bytes values = rounded_numbers(dtype, count, communicator.rank());
            communicator.all_reduce(values.data(), count, dtype);
            if (communicator.rank() == 0) sums = std::move(values);
          });
          EXPECT_EQ(errors, std::vector<std::string>(ranks.size()));
          results.push_back(std::move(sums));
        }
        EXPECT_TRUE(results[0] == results[1]) << size << " ranks, " << to_string(dtype) << " " << count;
      }
    }
  }
}

TEST_P(Collectives, ThoseWhoAreDoneMayLeaveBeforeTheOthers) {
  constexpr std::int64_t kCount = 3'000'001;
  const std::vector<std::string> errors = errors_of_ranks(ranks_, [&](Communicator& communicator) {
    const int rank = communicator.rank();
    Bytes values = of_rank(DType::Float32, kCount, rank);
    communicator.broadcast(values.data(), kCount, DType::Float32, 0);
    EXPECT_TRUE(values == of_rank(DType::Float32, kCount, 0));
    ranks_[static_cast<std::size_t>(rank)].reset();
  });
  EXPECT_EQ(errors, std::vector<std::string>(ranks_.size()));
}

// Sanitizers, which are slow where many threads share few cores, see all there is to see with three ranks.
std::vector<Case> cases() {
  std::vector<Case> all{{1, "shm"}, {2, "shm"}, {3, "shm"}, {2, "tcp"}, {3, "tcp"}, {2, "grpc"}, {3, "grpc"}};
  if (cohort::test::kTimesSlower == 1) all.insert(all.end(), {{4, "shm"}, {5, "shm"}, {5, "tcp"}, {5, "grpc"}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, testing::ValuesIn(cases()), [](const auto& info) {
  return std::string(info.param.transport) + std::to_string(info.param.size);
});

}  // namespace
}  // namespace cohort::distribute::collective::test
