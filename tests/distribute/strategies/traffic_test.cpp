// How many messages a step costs, and what the chief sends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "cohort/cohort.h"
#include "tests/distribute/watched_cluster.h"

namespace cohort::distribute::test {
namespace {

constexpr std::int64_t kFeatures = 20;

Dataset batches(std::int64_t batch, std::int64_t units) {
  return datasets::from_tensor_slices(Tensor::full({2 * batch, kFeatures}, 0.5), Tensor::full({2 * batch, units}, 0.25))
      .shuffle(2 * batch)
      .repeat()
      .batch(batch);
}

struct Training {
  std::int64_t units = 10, batch = 8, steps_per_execution = 10, executions = 6;
};

// What a trained epoch sends, once every task knows the function and the data.
std::vector<Seen> seen_in_training(WatchedCluster& cluster, const Training& training, const char* transport,
                                   const char* placement = "round_robin") {
  const ParameterServerStrategy strategy(cluster.resolver(), {.placement = placement, .transport = transport});
  auto scope = strategy.scope();
  Sequential model({layers::Dense(training.units)});
  model.compile(
      {.optimizer = "adam", .loss = "mse", .metrics = {"mae"}, .steps_per_execution = training.steps_per_execution});
  std::vector<Seen> seen;
  model.fit(batches(training.batch, training.units),
            {.epochs = 4,
             .verbose = 0,
             .steps_per_epoch = training.steps_per_execution * training.executions,
             .callbacks = {callbacks::LambdaCallback(
                 {.on_epoch_begin = [&](std::int64_t) { cluster.take_seen(); },
                  .on_epoch_end = [&](std::int64_t, Logs&) { seen = cluster.take_seen(); }})}});
  return seen;
}

std::map<std::pair<std::string, Method>, int> counted_traffic(const std::vector<Seen>& seen) {
  std::map<std::pair<std::string, Method>, int> counts;
  for (const Seen& each : seen) ++counts[{each.task, each.method}];
  return counts;
}

// Workers exchange; all else is the chief's.
std::size_t largest_message_of_the_chief(const std::vector<Seen>& seen) {
  std::size_t largest = 0;
  for (const Seen& each : seen) {
    if (each.method != Method::Exchange) largest = std::max({largest, each.request_bytes, each.reply_bytes});
  }
  return largest;
}

class Traffic : public testing::TestWithParam<const char*> {};

// Two parameter servers hold a kernel and a bias: one round trip to each for a step; one more each for a closure, when
// a worker's copies are older than the chief wants them. The chief sends a closure and gets its result.
TEST_P(Traffic, ADenseStepIsOneRoundTripForEachParameterServer) {
  const Training training{.units = 10, .steps_per_execution = 10, .executions = 6};
  WatchedCluster cluster({{"worker", 1}, {"ps", 2}}, GetParam());
  const auto counts = counted_traffic(seen_in_training(cluster, training, GetParam()));
  const int steps = 60, closures = 6;
  for (const auto& [key, count] : counts) {
    const auto& [task, method] = key;
    if (method == Method::Exchange && task.starts_with("ps:")) {
      EXPECT_GE(count, steps) << task;
      EXPECT_LE(count, steps + 1) << task;
    } else if (method == Method::RunClosure && task == "worker:0") {
      EXPECT_EQ(count, closures);
    } else if (method == Method::Progress && task == "worker:0") {
      EXPECT_LE(count, closures) << "one that was idle for long is asked first";
    } else {
      ADD_FAILURE() << count << " × " << to_string(method) << " to " << task;
    }
  }
  EXPECT_TRUE(counts.contains({"ps:0", Method::Exchange}) && counts.contains({"ps:1", Method::Exchange}) &&
              counts.contains({"worker:0", Method::RunClosure}));
}

// A round trip is worth more than a few balanced bytes.
TEST_P(Traffic, SmallVariablesShareAServerAndLargeOnesAreSpread) {
  for (const auto& [units, servers] : {std::pair(10, 1), std::pair(4000, 2)}) {
    WatchedCluster cluster({{"worker", 1}, {"ps", 2}}, GetParam());
    const Training training{.units = units, .steps_per_execution = 2, .executions = 2};
    const auto counts = counted_traffic(seen_in_training(cluster, training, GetParam(), "bytes"));
    EXPECT_EQ(counts.contains({"ps:0", Method::Exchange}) + counts.contains({"ps:1", Method::Exchange}), servers);
  }
}

// A parameter server that holds nothing of the function hears nothing of it.
TEST_P(Traffic, AParameterServerWithoutVariablesIsLeftAlone) {
  WatchedCluster cluster({{"worker", 2}, {"ps", 2}}, GetParam());
  const ParameterServerStrategy strategy(cluster.resolver(), {.transport = GetParam()});
  auto scope = strategy.scope();
  const Variable weight(Tensor::scalar(1.0));
  ClusterCoordinator coordinator(strategy);
  const Function step = function([&](const Tensor& x) { return weight.value() * x; });
  coordinator.schedule(step, {Tensor::scalar(2.0)}).fetch();
  coordinator.join();
  cluster.take_seen();
  for (int i = 0; i < 20; ++i) coordinator.schedule(step, {Tensor::scalar(2.0)});
  coordinator.join();
  const auto counts = counted_traffic(cluster.take_seen());
  EXPECT_FALSE(counts.contains({"ps:1", Method::Exchange}));
  // Only read, never written: each closure asks once whether it is still the same.
  EXPECT_LE(counts.at({"ps:0", Method::Exchange}), 20);
}

TEST_P(Traffic, NothingOfTheChiefGrowsWithTheModelOrTheBatch) {
  std::vector<std::size_t> largest;
  for (const Training& training : {Training{.units = 10, .batch = 8}, Training{.units = 1000, .batch = 8},
                                   Training{.units = 10, .batch = 512}, Training{.units = 1000, .batch = 512}}) {
    WatchedCluster cluster({{"worker", 1}, {"ps", 2}}, GetParam());
    largest.push_back(largest_message_of_the_chief(seen_in_training(cluster, training, GetParam())));
  }
  // Numbers of other lengths: a few bytes.
  for (const std::size_t bytes : largest)
    EXPECT_NEAR(static_cast<double>(bytes), static_cast<double>(largest[0]), 32.0);
  EXPECT_LT(largest[0], 1024u);
}

TEST_P(Traffic, InitialValuesAreMadeWhereTheyLie) {
  WatchedCluster cluster({{"worker", 1}, {"ps", 2}}, GetParam());
  const ParameterServerStrategy strategy(cluster.resolver(),
                                         {.variable_partitioner = FixedShardsPartitioner(2), .transport = GetParam()});
  auto scope = strategy.scope();
  cluster.take_seen();
  Sequential model({layers::Dense(4000), layers::Dense(50, {.kernel_initializer = "he_normal"})});
  model.build({kUnknown, 100});
  std::size_t bytes = 0;
  for (const Seen& each : cluster.take_seen()) {
    EXPECT_EQ(each.method, Method::CreateVariable);
    bytes += each.request_bytes + each.reply_bytes;
  }
  EXPECT_GT(bytes, 0u);
  EXPECT_LT(bytes, 4096u);
}

// A frozen backbone under a head of ten units. 4 MB of it in the suite, COHORT_TEST_BACKBONE_MB where somebody wants to
// be sure.
std::int64_t backbone_units() {
  const char* megabytes = std::getenv("COHORT_TEST_BACKBONE_MB");
  return static_cast<std::int64_t>(std::sqrt((megabytes ? std::atof(megabytes) : 4.0) * 1e6 / sizeof(float)));
}
Ref<Sequential> model_with_backbone(std::int64_t units) {
  auto model = make<Sequential>({layers::Dense(units, {.activation = "relu"}), layers::Dense(10)});
  model->get_layer(std::int64_t{0})->set_trainable(false);
  model->compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = 5});
  return model;
}
Dataset examples_for_backbone(std::int64_t units) {
  return datasets::from_tensor_slices(Tensor::full({8, units}, 0.01), Tensor::full({8, 10}, 0.25)).batch(4).repeat();
}

TEST_P(Traffic, FrozenLayersCostNothing) {
  constexpr std::int64_t kSteps = 40;
  const std::int64_t units = backbone_units();
  WatchedCluster cluster({{"worker", 2}, {"ps", 1}}, GetParam());
  const ParameterServerStrategy strategy(cluster.resolver(), {.transport = GetParam()});
  auto scope = strategy.scope();
  const Ref<Sequential> model = model_with_backbone(units);
  std::vector<Seen> seen;
  model->fit(examples_for_backbone(units),
             {.epochs = 2,
              .verbose = 0,
              .steps_per_epoch = kSteps,
              .callbacks = {callbacks::LambdaCallback(
                  {.on_epoch_begin = [&](std::int64_t) { cluster.take_seen(); },
                   .on_epoch_end = [&](std::int64_t, Logs&) { seen = cluster.take_seen(); }})}});
  std::size_t bytes = 0;
  for (const Seen& each : seen) {
    if (each.method == Method::Exchange) bytes += each.request_bytes + each.reply_bytes;
  }
  // Gradients out, fresh values back. A worker may meet the function for the first time in this epoch.
  const auto head = static_cast<double>(2 * (10 * units + 10) * static_cast<std::int64_t>(sizeof(float)));
  const auto late_pull = static_cast<double>(units * (units + 1) * static_cast<std::int64_t>(sizeof(float)));
  const double extra = static_cast<double>(bytes) - 1.1 * head * kSteps;
  EXPECT_TRUE(extra <= 0 || extra - late_pull <= 1.1 * head) << bytes << " bytes, head " << head;
  EXPECT_GE(static_cast<double>(bytes), head * kSteps);
}

// What a function only reads is new for it all the same when somebody writes it: the chief, or another function.
TEST_P(Traffic, WritesToFrozenLayersAreSeen) {
  const auto run = [](ClusterCoordinator* coordinator) {
    Variable frozen(Tensor::scalar(1.0)), trained(Tensor::scalar(0.0));
    const Function train = function([&](const Tensor& x) {
      trained.assign_add(frozen.value() * x);
      return trained.value() * frozen.value();
    });
    const Function thaw = function([&](const Tensor& x) {
      frozen.assign_add(x);
      return x * 1.0;
    });
    const auto call = [&](const Function& what, double argument) {
      const Tensor x = Tensor::scalar(argument);
      return (coordinator ? Tensor(coordinator->schedule(what, {x}).fetch()) : Tensor(what(x))).item<float>();
    };
    std::vector<float> results;
    for (int i = 0; i < 3; ++i) results.push_back(call(train, 1.0));
    frozen.assign(Tensor::scalar(10.0));
    for (int i = 0; i < 2; ++i) results.push_back(call(train, 1.0));
    call(thaw, 5.0);
    call(train, 1.0);  // whose worker may not have heard of it yet: functions are not in step
    for (int i = 0; i < 3; ++i) results.push_back(call(train, 1.0));
    return results;
  };
  WatchedCluster cluster({{"worker", 1}, {"ps", 1}}, GetParam());
  const std::vector<float> local = run(nullptr);
  const ParameterServerStrategy strategy(cluster.resolver(), {.transport = GetParam()});
  auto scope = strategy.scope();
  ClusterCoordinator coordinator(strategy);
  EXPECT_EQ(run(&coordinator), local);
}

TEST_P(Traffic, AFrozenBackboneTrainsAsHere) {
  const auto run = [] {
    set_random_seed(5);
    const Ref<Sequential> model = model_with_backbone(30);
    model->fit(examples_for_backbone(30), {.epochs = 2, .verbose = 0, .steps_per_epoch = 10});
    std::vector<Tensor> weights = model->get_weights();
    for (Tensor& weight : weights) weight = ops::multiply(weight, Tensor::scalar(0.5));
    model->set_weights(weights);
    model->fit(examples_for_backbone(30), {.epochs = 2, .verbose = 0, .steps_per_epoch = 10});
    std::vector<float> values;
    for (const Tensor& weight : model->get_weights()) {
      for (const float value : weight.to_vector<float>()) values.push_back(value);
    }
    return values;
  };
  const std::vector<float> local = run();
  WatchedCluster cluster({{"worker", 1}, {"ps", 2}}, GetParam());
  const ParameterServerStrategy strategy(cluster.resolver(), {.transport = GetParam()});
  auto scope = strategy.scope();
  EXPECT_EQ(run(), local);
}

INSTANTIATE_TEST_SUITE_P(Transports, Traffic, testing::Values("auto", "grpc"));

}  // namespace
}  // namespace cohort::distribute::test
