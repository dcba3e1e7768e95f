// What the chief lets go of goes from the tasks too, and not before the last closure that uses it has ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "cohort/cohort.h"
#include "cohort/distribute/protocol/messages.pb.h"
#include "tests/distribute/watched_cluster.h"

namespace cohort::distribute::test {
namespace {

using testing::Contains;

constexpr std::int64_t kDataRows = 64, kDataFeatures = 8;

// Values in memory that counts how many such there are: tasks of this process share it instead of copying it.
class CountedMemory {
 public:
  Tensor make(const Shape& shape, float value) {
    auto values = std::make_shared<std::vector<float>>(static_cast<std::size_t>(shape.num_elements()), value);
    ++*alive_;
    return Tensor::from_blob(values->data(), DType::Float32, shape,
                             [values, alive = alive_]() mutable { values.reset(), --*alive; });
  }
  int alive() const { return *alive_; }

 private:
  std::shared_ptr<std::atomic<int>> alive_ = std::make_shared<std::atomic<int>>(0);
};

class SmallModel : public Sequential {
 public:
  SmallModel() : Sequential({layers::Dense(4, {.kernel_initializer = "ones"})}) {
    compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = 4});
  }
};

class Released : public testing::Test {
 protected:
  static constexpr int kWorkers = 2;
  // A worker keeps what it got last until it hears from the chief again.
  static constexpr int kFew = kWorkers + 1;

  // Names that the tasks of a job were told to let go of.
  std::set<std::string> released_variables() {
    std::set<std::string> names;
    for (const Seen& seen : cluster_.take_seen()) {
      proto::ReleaseProto releases;
      if (seen.method != Method::Release || !releases.ParseFromString(seen.request.meta)) continue;
      names.insert(releases.variables().begin(), releases.variables().end());
    }
    return names;
  }

  WatchedCluster cluster_{{{"worker", kWorkers}, {"ps", 2}}};
  ParameterServerStrategy strategy_{cluster_.resolver()};
  CountedMemory memory_;
};

TEST_F(Released, DataOfPredictEvaluateAndFit) {
  auto scope = strategy_.scope();
  SmallModel model;
  const Tensor y = Tensor::full({kDataRows, 4}, 1.0);
  int most = 0;
  for (int round = 0; round < 12; ++round) {
    const auto value = static_cast<float>(round);
    const Tensor outputs = model.predict(
        datasets::from_tensor_slices(memory_.make({kDataRows, kDataFeatures}, value)).batch(4), {.verbose = 0});
    EXPECT_EQ(outputs.shape(), Shape({kDataRows, 4}));
    model.evaluate(datasets::from_tensor_slices(memory_.make({kDataRows, kDataFeatures}, value), y).batch(4),
                   {.verbose = 0});
    model.fit(datasets::from_tensor_slices(memory_.make({kDataRows, kDataFeatures}, value), y).batch(4),
              {.verbose = 0});
    most = std::max(most, memory_.alive());
  }
  EXPECT_LE(most, 3 * kFew);
}

TEST_F(Released, FunctionsWithTheirConstants) {
  auto scope = strategy_.scope();
  const Variable weight(Tensor::full({kDataFeatures}, 2.0));
  ClusterCoordinator coordinator(strategy_);
  int most = 0;
  for (int round = 0; round < 20; ++round) {
    const Tensor constant = memory_.make({kDataFeatures}, static_cast<float>(round));
    const Function step = function([&](const Tensor& x) { return ops::sum(weight.value() * constant * x); });
    const Tensor result = coordinator.schedule(step, {Tensor::scalar(0.5)}).fetch();
    EXPECT_EQ(result.item<float>(), static_cast<float>(round * kDataFeatures));
    most = std::max(most, memory_.alive());
  }
  EXPECT_LE(most, kFew + 1);
}

TEST_F(Released, AFunctionThatIsKeptStaysOnItsTasks) {
  auto scope = strategy_.scope();
  SmallModel model;
  const Dataset data = datasets::from_tensor_slices(Tensor::full({kDataRows, kDataFeatures}, 1.0)).batch(4);
  std::set<std::string> have_rows;
  for (int round = 0; round < 1000 && (round < 3 || have_rows.size() < kWorkers); ++round) {
    model.predict(data, {.verbose = 0});
    for (const Seen& seen : cluster_.take_seen()) {
      if (seen.method == Method::CreatePipeline) have_rows.insert(seen.task);
    }
  }
  for (int round = 0; round < 10; ++round) model.predict(data, {.verbose = 0});
  int registered = 0;
  std::size_t sent = 0;
  for (const Seen& seen : cluster_.take_seen()) {
    registered += seen.method == Method::RegisterWorker || seen.method == Method::RegisterServer;
    if (seen.method == Method::CreatePipeline) sent = std::max(sent, seen.request_bytes);
  }
  EXPECT_EQ(registered, 0);
  EXPECT_LT(sent, kDataRows * kDataFeatures * sizeof(float)) << "rows that a worker has are not sent again";
}

TEST_F(Released, VariablesOfAModelThatIsGone) {
  auto scope = strategy_.scope();
  cluster_.keep_requests();
  {
    SmallModel model;
    model.build({kUnknown, kDataFeatures});
    EXPECT_TRUE(released_variables().empty());
  }
  const Variable next(Tensor::scalar(1.0));
  EXPECT_THAT(released_variables(),
              testing::AllOf(Contains(testing::EndsWith("kernel")), Contains(testing::EndsWith("bias"))));
  EXPECT_EQ(read_now(next).item<float>(), 1.0f);
  EXPECT_TRUE(released_variables().empty());
}

// The handle is gone while closures that take its elements wait.
TEST_F(Released, NotBeforeTheLastClosureHasEnded) {
  auto scope = strategy_.scope();
  ClusterCoordinator coordinator(strategy_);
  const Function next_of = function([](Iterator data) {
    const auto [number] = data.next<1>();
    return number;
  });
  for (int round = 0; round < 10; ++round) {
    std::vector<RemoteValue> values;
    {
      const auto iterator = coordinator.create_per_worker_dataset(datasets::range(100)).iterator();
      for (int i = 0; i < 100; ++i) values.push_back(coordinator.schedule(next_of, {iterator}));
    }
    std::int64_t sum = 0;
    for (const RemoteValue& value : values) sum += Tensor(value.fetch()).item<std::int64_t>();
    EXPECT_EQ(sum, 4950);
  }
  coordinator.join();
}

// Strategies that share a cluster may count to the same names.
TEST_F(Released, AVariableThatAnotherStrategyNamesStays) {
  const ParameterServerStrategy twin(strategy_.runtime());
  const auto make = [](const ParameterServerStrategy& strategy, double value) {
    auto scope = strategy.scope();
    return Variable(Tensor::scalar(value));
  };
  auto first = std::make_unique<Variable>(make(strategy_, 1.0));
  const Variable second = make(twin, 2.0);
  first.reset();
  make(strategy_, 3.0);
  EXPECT_EQ(read_now(second).item<float>(), 1.0f) << "it was there when the second one asked for it";
}

}  // namespace
}  // namespace cohort::distribute::test
