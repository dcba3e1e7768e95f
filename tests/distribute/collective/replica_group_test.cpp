#include "cohort/distribute/collective/replica_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <thread>

#include "tests/distribute/collective/ranks.h"

namespace cohort::distribute::test {
namespace {

using testing::AnyOf;
using testing::Each;
using testing::HasSubstr;

// One replica of one of the workers.
struct ReplicaPlace {
  Collective& collective;
  int worker, replica, number;
};

// Runs code on all replicas of workers of this process; what each threw.
std::vector<std::string> errors_on_replicas(int workers, int replicas, bool has_thread,
                                            const std::function<void(const ReplicaPlace&)>& code) {
  std::vector<std::shared_ptr<collective::Communicator>> ranks;
  for (auto& rank : collective::make_local_communicators(workers)) ranks.push_back(std::move(rank));
  std::vector<std::unique_ptr<ReplicaGroup>> groups;
  const ReplicaGroup::Options options{.has_thread = has_thread};
  for (auto& rank : ranks) groups.push_back(std::make_unique<ReplicaGroup>(replicas, rank, options));
  std::vector<std::string> errors(static_cast<std::size_t>(workers * replicas));
  std::vector<std::thread> threads;
  for (int number = 0; number < workers * replicas; ++number) {
    threads.emplace_back([&, number] {
      ReplicaGroup& group = *groups[static_cast<std::size_t>(number / replicas)];
      const int replica = number % replicas;
      errors[static_cast<std::size_t>(number)] = cohort::test::error_of([&] {
        Collective& member = *group.member(replica);
        try {
          code({member, number / replicas, replica, number});
        } catch (...) {
          member.abandon();  // as whoever runs a graph does
          group.abort(ReplicaGroup::reason_of(replica, std::current_exception()));
          throw;
        }
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

// Packs of several tensors, of which some are too large to be joined with others.
struct Packs {
  explicit Packs(float value) {
    for (const std::vector<std::int64_t>& pack :
         std::vector<std::vector<std::int64_t>>{{3, 70'000, 1}, {100'000}, {7, 5}}) {
      parts.emplace_back();
      values.emplace_back();
      pointers.emplace_back();
      for (const std::int64_t elements : pack) {
        parts.back().push_back({DType::Float32, elements});
        values.back().emplace_back(static_cast<std::size_t>(elements), value);
        pointers.back().push_back(values.back().back().data());
      }
    }
  }
  Packs(const Packs& other) : Packs(other.values[0][0][0]) {}
  std::vector<std::vector<Collective::Part>> parts;
  std::vector<std::vector<std::vector<float>>> values;
  std::vector<std::vector<void*>> pointers;
};

bool all_are(const std::vector<float>& values, float expected) {
  return std::all_of(values.begin(), values.end(), [&](float value) { return value == expected; });
}

class ReplicaGroupPacks : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  std::vector<std::string> errors_of(const std::function<void(const ReplicaPlace&)>& code) const {
    return errors_on_replicas(2, std::get<0>(GetParam()), std::get<1>(GetParam()), code);
  }
  float sum_of_all() const {  // where each replica has its number and one
    const int all = 2 * std::get<0>(GetParam());
    return static_cast<float>(all * (all + 1) / 2);
  }
};

TEST_P(ReplicaGroupPacks, AddUnevenPacksUpInPlace) {
  const auto errors = errors_of([&](const ReplicaPlace& place) {
    for (int step = 0; step < 5; ++step) {
      Packs packs(static_cast<float>(place.number + 1));
      for (std::size_t i = 0; i < packs.parts.size(); ++i) {
        place.collective.start(packs.parts[i], packs.pointers[i].data(), nullptr);
      }
      for (auto& pointers : packs.pointers) place.collective.wait(pointers.data(), nullptr);
      for (const auto& pack : packs.values) {
        for (const auto& values : pack) EXPECT_TRUE(all_are(values, sum_of_all()));
      }
    }
  });
  EXPECT_THAT(errors, Each(""));
}

TEST_P(ReplicaGroupPacks, KeepTheirOrderWithReductionsInBetween) {
  const auto errors = errors_of([&](const ReplicaPlace& place) {
    Packs packs(static_cast<float>(place.number + 1));
    const Collective::Part part{DType::Float32, 1};
    const float own = static_cast<float>(place.number + 1);
    float sum = 0, first = own;
    const void* input = &own;
    void *output = &sum, *in_place = &first;
    place.collective.start(packs.parts[0], packs.pointers[0].data(), nullptr);
    place.collective.all_reduce({&part, 1}, &input, &output, Collective::Reduction::Sum);
    EXPECT_EQ(sum, sum_of_all());
    place.collective.start(packs.parts[1], packs.pointers[1].data(), nullptr);
    place.collective.all_reduce({&part, 1}, &in_place, &in_place, Collective::Reduction::First);
    EXPECT_EQ(first, 1.0f);
    place.collective.wait(packs.pointers[0].data(), nullptr);
    place.collective.wait(packs.pointers[1].data(), nullptr);
    EXPECT_TRUE(all_are(packs.values[1][0], sum_of_all()));
  });
  EXPECT_THAT(errors, Each(""));
}

// As many rows as a replica's number, each with that number; what all of them are, where they pay.
std::optional<std::map<std::int64_t, std::vector<float>>> gathered_rows(const ReplicaPlace& place, std::int64_t most) {
  const auto count = static_cast<std::size_t>(place.number);
  const std::vector<float> values(count * 2, static_cast<float>(place.number));
  const std::vector<std::int64_t> indices(count, place.number);
  std::map<std::int64_t, std::vector<float>> all;
  const Collective::Rows own{DType::Float32, DType::Int64, place.number, 2, values.data(), indices.data()};
  const bool pays = place.collective.gather_rows(own, most, [&](std::span<const Collective::Rows> groups) {
    for (const Collective::Rows& rows : groups) {
      const float* value = static_cast<const float*>(rows.values);
      for (std::int64_t i = 0; i < rows.count; ++i) {
        std::vector<float>& row = all[static_cast<const std::int64_t*>(rows.indices)[i]];
        row.insert(row.end(), value + i * rows.elements, value + (i + 1) * rows.elements);
      }
    }
  });
  return pays ? std::optional(all) : std::nullopt;
}

// Those without a row come, too.
TEST_P(ReplicaGroupPacks, GatherAnyNumberOfRowsBehindWhatWasBegun) {
  const int replicas = 2 * std::get<0>(GetParam());
  const auto errors = errors_of([&](const ReplicaPlace& place) {
    Packs packs(static_cast<float>(place.number + 1));
    for (std::size_t i = 0; i < packs.parts.size(); ++i) {
      place.collective.start(packs.parts[i], packs.pointers[i].data(), nullptr);
    }
    const auto all = gathered_rows(place, 100);
    ASSERT_TRUE(all.has_value());
    EXPECT_EQ(all->size(), static_cast<std::size_t>(replicas - 1));
    for (const auto& [number, values] : *all) {
      EXPECT_EQ(values, std::vector<float>(static_cast<std::size_t>(number) * 2, static_cast<float>(number)));
    }
    EXPECT_FALSE(gathered_rows(place, 1).has_value());
    for (auto& pointers : packs.pointers) place.collective.wait(pointers.data(), nullptr);
    for (const auto& values : packs.values[1]) EXPECT_TRUE(all_are(values, sum_of_all()));
  });
  EXPECT_THAT(errors, Each(""));
}

// Values of any type cross within a process alone, also of those that have no say in sums.
TEST_P(ReplicaGroupPacks, GatherValuesOfTheProcessBehindWhatWasBegun) {
  const int replicas = std::get<0>(GetParam());
  const auto errors = errors_of([&](const ReplicaPlace& place) {
    Packs packs(static_cast<float>(place.number + 1));
    for (std::size_t i = 0; i < packs.parts.size(); ++i) {
      place.collective.start(packs.parts[i], packs.pointers[i].data(), nullptr);
    }
    const std::vector<Collective::Part> parts{{DType::Bool, 3}, {DType::Float64, 1}};
    const auto byte = static_cast<std::uint8_t>(place.number);
    const std::vector<std::uint8_t> bytes(3, byte);
    const double value = place.number;
    const void* const inputs[] = {bytes.data(), &value};
    std::vector<std::vector<std::uint8_t>> all_bytes(2, std::vector<std::uint8_t>(3, 99));
    std::vector<double> all_values(2, 99.0);
    std::vector<void*> outputs;
    for (int i = 0; i < replicas; ++i) outputs.push_back(all_bytes[static_cast<std::size_t>(i)].data());
    for (int i = 0; i < replicas; ++i) outputs.push_back(&all_values[static_cast<std::size_t>(i)]);
    place.collective.gather(parts, replicas, inputs, outputs.data());
    for (int i = 0; i < replicas; ++i) {
      const int number = place.worker * replicas + i;
      EXPECT_EQ(all_bytes[static_cast<std::size_t>(i)],
                std::vector<std::uint8_t>(3, static_cast<std::uint8_t>(number)));
      EXPECT_EQ(all_values[static_cast<std::size_t>(i)], number);
    }
    for (auto& pointers : packs.pointers) place.collective.wait(pointers.data(), nullptr);
    for (const auto& values : packs.values[1]) EXPECT_TRUE(all_are(values, sum_of_all()));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(ReplicaGroupValues, HaveOneShapeWhereTheyAreGathered) {
  const auto errors = errors_on_replicas(1, 2, false, [&](const ReplicaPlace& place) {
    const Collective::Part part{DType::Float32, 1 + place.replica};
    const float own[2] = {};
    float all[2][2] = {};
    const void* const input = own;
    void* const outputs[] = {all[0], all[1]};
    place.collective.gather({&part, 1}, 2, &input, outputs);
  });
  EXPECT_THAT(errors, Each(HasSubstr("every replica must bring values of the same shapes")));
}

TEST(ReplicaGroupRows, AreOfOneTable) {
  const auto errors = errors_on_replicas(1, 2, false, [&](const ReplicaPlace& place) {
    const Collective::Rows own{DType::Float32, DType::Int64, 0, 2 + place.replica, nullptr, nullptr};
    place.collective.gather_rows(own, 100, [](std::span<const Collective::Rows>) {});
  });
  EXPECT_THAT(errors, Each(AnyOf(HasSubstr("all replicas must bring rows of the same table"), HasSubstr("Aborted"))));
}

// Who is silent takes part without a say, alone in its process or beside others.
TEST(ReplicaGroupSilence, LeavesSilentOnesOutOfSums) {
  for (const bool second_worker_too : {false, true}) {
    std::vector<std::shared_ptr<collective::Communicator>> ranks;
    for (auto& rank : collective::make_local_communicators(2)) ranks.push_back(std::move(rank));
    std::vector<std::thread> threads;
    for (int worker = 0; worker < 2; ++worker) {
      threads.emplace_back([&, worker] {
        ReplicaGroup group(1, ranks[static_cast<std::size_t>(worker)]);
        group.set_silent(0, worker == 0 || second_worker_too);
        const Collective::Part part{DType::Float32, 1};
        float own = 3.0f, sum = 7.0f, started = 3.0f;
        const void* input = &own;
        void *output = &sum, *in_place = &started;
        group.member(0)->all_reduce({&part, 1}, &input, &output, Collective::Reduction::Sum);
        group.member(0)->start({&part, 1}, &in_place, nullptr);
        group.member(0)->wait(&in_place, nullptr);
        EXPECT_EQ(sum, second_worker_too ? 0.0f : 3.0f);
        EXPECT_EQ(started, sum);
        const std::int32_t index = 0;
        const Collective::Rows rows{DType::Float32, DType::Int32, 1, 1, &own, &index};
        EXPECT_TRUE(group.member(0)->gather_rows(rows, 2, [&](std::span<const Collective::Rows> all) {
          std::int64_t count = 0;
          for (const Collective::Rows& each : all) count += each.count;
          EXPECT_EQ(count, second_worker_too ? 0 : 1);
        }));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// One fails when some packs are under way: the others get its name, and its memory is its own again.
TEST_P(ReplicaGroupPacks, EndOnAllWhenOneFailsInTheMiddle) {
  std::deque<Packs> all(4, Packs(1.0f));  // which outlive what is begun with them
  const auto errors = errors_of([&](const ReplicaPlace& place) {
    Packs& packs = all[static_cast<std::size_t>(place.number)];
    place.collective.start(packs.parts[0], packs.pointers[0].data(), nullptr);
    if (place.number == 1) throw Error(ErrorCode::ResourceExhausted, "out of breath");
    for (std::size_t i = 1; i < packs.parts.size(); ++i) {
      place.collective.start(packs.parts[i], packs.pointers[i].data(), nullptr);
    }
    for (auto& pointers : packs.pointers) place.collective.wait(pointers.data(), nullptr);
  });
  EXPECT_EQ(errors[1], "ResourceExhausted out of breath");
  for (std::size_t i = 0; i < errors.size(); ++i) {
    EXPECT_THAT(errors[i], HasSubstr("out of breath")) << i;
  }
}

TEST_P(ReplicaGroupPacks, AreWaitedForInOrder) {
  std::deque<Packs> all(4, Packs(1.0f));
  const auto errors = errors_of([&](const ReplicaPlace& place) {
    Packs& packs = all[static_cast<std::size_t>(place.number)];
    for (std::size_t i = 0; i < 2; ++i) place.collective.start(packs.parts[i], packs.pointers[i].data(), nullptr);
    place.collective.wait(packs.pointers[1].data(), nullptr);
  });
  EXPECT_THAT(errors, Each(AnyOf(HasSubstr("in the order in which they were begun"), HasSubstr("Aborted"))));
}

INSTANTIATE_TEST_SUITE_P(Replicas, ReplicaGroupPacks, testing::Combine(testing::Values(1, 2), testing::Bool()));

}  // namespace
}  // namespace cohort::distribute::test
