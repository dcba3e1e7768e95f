// What users see of a ClusterCoordinator on a cluster of this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <thread>

#include "cohort/cohort.h"
#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

float number(const Variable& variable) { return read_now(variable).item<float>(); }
float number(const RemoteValue& value) { return Tensor(value.fetch()).item<float>(); }

class OnCluster : public testing::TestWithParam<const char*> {
 protected:
  LocalCluster cluster_{{{"worker", 3}, {"ps", 2}}, {.transport = GetParam()}};
  ParameterServerStrategy strategy_{cluster_.resolver(), {.transport = GetParam()}};
  StrategyScope scope_{strategy_.body()};
  ClusterCoordinator coordinator_{strategy_};
};

TEST_P(OnCluster, ResultsAreThoseOfTheirArguments) {
  const Variable factor(Tensor::scalar(3.0));
  const Function times = function([&](const Tensor& x) { return std::tuple(factor.value() * x, x + 1.0); });
  std::vector<RemoteValue> values;
  for (int i = 0; i < 60; ++i) values.push_back(coordinator_.schedule(times, {Tensor::scalar(i)}));
  const std::vector<Results> results = coordinator_.fetch(values);
  for (int i = 0; i < 60; ++i) {
    const Results& pair = results[static_cast<std::size_t>(i)];
    EXPECT_EQ(pair.at(0).item<float>(), static_cast<float>(3 * i));
    EXPECT_EQ(pair.at(1).item<float>(), static_cast<float>(i + 1));
    EXPECT_EQ(values[static_cast<std::size_t>(i)].status(), RemoteValueStatus::Ready);
  }
  coordinator_.join();
  EXPECT_TRUE(coordinator_.done());
  EXPECT_EQ(times.trace_count(), 1);
}

TEST_P(OnCluster, WhoAsksForACertainWorkerIsToldThatAnyMayRunAClosure) {
  const auto on = [&](const char* place) {
    const Function twice = function([place](const Tensor& x) {
      auto scope = device(place);
      return x * 2.0;
    });
    testing::internal::CaptureStderr();
    EXPECT_EQ(number(coordinator_.schedule(twice, {Tensor::scalar(4.0)})), 8.0f);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(on("/job:worker/task:1"), AllOf(HasSubstr("/job:worker/task:1"), HasSubstr("any worker")));
  EXPECT_THAT(on("/job:worker"), testing::Not(HasSubstr("any worker")));
  EXPECT_THAT(on("/job:ps/task:1"), testing::Not(HasSubstr("any worker")));
}

// The first error comes out of the next call, what had not run is cancelled, and work goes on after that.
TEST_P(OnCluster, AnErrorEndsWhatIsUnderWayAndNothingElse) {
  Variable table(Tensor::of<float>({1, 2, 4}, {3})), count(Tensor::scalar(0.0));
  const Function look_up = function([&](const Tensor& index) {
    const Tensor found = ops::gather(table.value(), index);
    count.assign_add(Tensor::scalar(1.0));
    return found;
  });
  const auto index = [](std::int64_t i) { return Tensor::scalar(static_cast<double>(i), DType::Int64); };
  for (int round = 0; round < 3; ++round) {
    write_now(count, Tensor::scalar(0.0));
    const RemoteValue good = coordinator_.schedule(look_up, {index(2)});
    EXPECT_EQ(number(good), 4.0f);
    const RemoteValue bad = coordinator_.schedule(look_up, {index(3)});
    std::vector<RemoteValue> later;
    const std::string error = error_of([&] {
      for (int i = 0; i < 100; ++i) later.push_back(coordinator_.schedule(look_up, {index(1)}));
      coordinator_.join();
    });
    EXPECT_THAT(error, MatchesRegex("[A-Za-z]+ worker:[012]: .*Gather.*"));
    EXPECT_EQ(bad.status(), RemoteValueStatus::Ready);
    EXPECT_THAT(error_of([&] { bad.fetch(); }), HasSubstr("Gather"));
    EXPECT_EQ(good.status(), RemoteValueStatus::Ready);
    int finished = 1;
    for (const RemoteValue& value : later) {
      ASSERT_TRUE(value.ready());
      if (value.status() == RemoteValueStatus::Aborted) {
        EXPECT_THAT(error_of([&] { value.fetch(); }), HasSubstr("Cancelled"));
      } else {
        EXPECT_EQ(number(value), 2.0f);
        ++finished;
      }
    }
    EXPECT_TRUE(coordinator_.done());
    EXPECT_EQ(number(coordinator_.schedule(look_up, {index(0)})), 1.0f);
    EXPECT_GE(number(count), static_cast<float>(finished + 1));
    EXPECT_LE(number(count), 102.0f);
  }
}

TEST_P(OnCluster, EachWorkerHasAPipelineAndAllElementsAreSeenOnce) {
  std::set<std::int64_t> asked_for;
  const auto dataset = coordinator_.create_per_worker_dataset([&](const InputContext& context) {
    EXPECT_EQ(context.num_input_pipelines, 3);
    asked_for.insert(context.input_pipeline_id);
    // Told apart by their thousands.
    const std::int64_t first = 1000 * context.input_pipeline_id;
    return datasets::range(first, first + 40 + context.input_pipeline_id);
  });
  EXPECT_THAT(asked_for, testing::ElementsAre(0, 1, 2));
  const auto iterator = dataset.iterator();
  const Function take = function([](Iterator data) { return data.next<1>()[0]; });
  std::vector<RemoteValue> values;
  for (int i = 0; i < 123; ++i) values.push_back(coordinator_.schedule(take, {iterator}));
  std::set<std::int64_t> seen;
  for (const RemoteValue& value : values) seen.insert(Tensor(value.fetch()).item<std::int64_t>());
  std::set<std::int64_t> all;
  for (std::int64_t pipeline = 0; pipeline < 3; ++pipeline) {
    for (std::int64_t i = 0; i < 40 + pipeline; ++i) all.insert(1000 * pipeline + i);
  }
  EXPECT_EQ(seen, all);
  EXPECT_THAT(error_of([&] {
                coordinator_.schedule(take, {iterator});
                coordinator_.join();
              }),
              HasSubstr("OutOfRange"));
}

// One pipeline lent to whoever is free.
TEST_P(OnCluster, ADatasetIsSharedByAllWorkers) {
  Variable sum(Tensor::scalar(0.0, DType::Int64));
  const Dataset numbers = datasets::range(1, 6);
  for (const auto& dataset : {coordinator_.create_per_worker_dataset(numbers),
                              coordinator_.create_per_worker_dataset([&] { return numbers; })}) {
    write_now(sum, Tensor::scalar(0.0, DType::Int64));
    const auto iterator = dataset.iterator();
    const Function add = function([&](Iterator data) { sum.assign_add(data.next<1>()[0]); });
    for (int i = 0; i < 5; ++i) coordinator_.schedule(add, {iterator});
    coordinator_.join();
    EXPECT_EQ(read_now(sum).item<std::int64_t>(), 15);
  }
}

TEST_P(OnCluster, MetricsOfScheduledFunctionsAreExact) {
  const metrics::Sum sum;
  const metrics::Mean mean;
  const auto iterator = coordinator_.create_per_worker_dataset(datasets::range(200).shuffle(50).batch(7)).iterator();
  const Function step = function([&](Iterator data) {
    const Tensor values = ops::cast(data.next<1>()[0], DType::Float32);
    sum.update_state(values);
    mean.update_state(values);
  });
  for (int i = 0; i < 29; ++i) coordinator_.schedule(step, {iterator});
  coordinator_.join();
  EXPECT_EQ(sum.result().item<float>(), 19900.0f);
  EXPECT_EQ(mean.result().item<float>(), 99.5f);
}

TEST_P(OnCluster, SeveralThreadsMaySchedule) {
  Variable sum(Tensor::scalar(0.0));
  const metrics::Sum metric;
  const Function add = function([&](const Tensor& x) {
    sum.assign_add(x);
    metric.update_state(x);
    return x * 2.0;
  });
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) {
        const float x = static_cast<float>(100 * thread + i);
        const RemoteValue value = coordinator_.schedule(add, {Tensor::scalar(x)});
        if (i % 5 == 0) right += number(value) == 2.0f * x;
        if (i % 25 == 0) coordinator_.join();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  coordinator_.join();
  EXPECT_EQ(right, 40);
  const float expected = 4.0f * 1225.0f + 50.0f * 600.0f;
  EXPECT_EQ(number(sum), expected);
  EXPECT_EQ(metric.result().item<float>(), expected);
}

TEST_P(OnCluster, WhatTheChiefWritesReachesEverythingScheduledAfterwards) {
  const Variable first(Tensor::scalar(0.0)), second(Tensor::scalar(0.0));
  const Function read = function([&] { return ops::minimum(first.value(), second.value()); });
  std::vector<RemoteValue> values;
  for (int i = 1; i <= 40; ++i) {
    write_now(first, Tensor::scalar(i));
    write_now(second, Tensor::scalar(i));
    values.push_back(coordinator_.schedule(read));
    if (i % 4 == 0) {
      EXPECT_EQ(number(values.back()), static_cast<float>(i));
    }
  }
  for (int i = 1; i <= 40; ++i) EXPECT_GE(number(values[static_cast<std::size_t>(i - 1)]), static_cast<float>(i));
}

// The same from several threads of the chief: no write is taken for a repeat of another.
TEST_P(OnCluster, TheChiefsThreadsWriteEachOnItsOwn) {
  const Variable sum(Tensor::scalar(0.0));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) Variable(sum).assign_add(Tensor::scalar(1.0));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(number(sum), 800.0f);
}

TEST_P(OnCluster, RandomNumbersDifferFromCallToCall) {
  const Function draw = function([] { return ops::random_uniform({4}); });
  std::set<std::vector<float>> drawn;
  for (int i = 0; i < 12; ++i) drawn.insert(Tensor(coordinator_.schedule(draw).fetch()).to_vector<float>());
  EXPECT_EQ(drawn.size(), 12u);
}

INSTANTIATE_TEST_SUITE_P(Transports, OnCluster, testing::Values("auto", "shm", "tcp", "grpc"));

}  // namespace
}  // namespace cohort::distribute
