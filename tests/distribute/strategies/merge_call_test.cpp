// Code that replicas in step run together, once: line by line, and as part of graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "cohort/cohort.h"
#include "cohort/distribute/strategies/replica_set.h"
#include "tests/support/error_of.h"
#include "tests/support/in_step_jobs.h"
#include "tests/support/in_step_strategies.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using cohort::test::InStep;
using cohort::test::values_of;
using cohort::test::waves;
using testing::ElementsAre;
using testing::HasSubstr;

const auto kAllWays = testing::Combine(testing::Values(InStep::Mirrored, InStep::CentralStorage), testing::Bool());

std::string name_of_way(const testing::TestParamInfo<std::tuple<InStep, bool>>& info) {
  const auto [kind, traced] = info.param;
  return cohort::test::name_of(kind) + (traced ? "Traced" : "LineByLine");
}

Tensor total_of(const Tensors& values) {
  Tensor total = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) total = total + values[i];
  return total;
}

class MergeCall : public testing::TestWithParam<std::tuple<InStep, bool>> {
 protected:
  bool traced() const { return std::get<1>(GetParam()); }
  // Runs code on each replica's number; what the replicas return.
  template <class Code>
  std::vector<std::vector<float>> results_of(const Code& code, const PerReplica& numbers) const {
    const PerReplica results = traced() ? strategy_.run(function(code), numbers) : strategy_.run(code, numbers);
    std::vector<std::vector<float>> seen;
    for (const Tensor& each : strategy_.experimental_local_results(results)) seen.push_back(each.to_vector<float>());
    return seen;
  }
  template <class Code>
  std::vector<std::vector<float>> results_of(const Code& code) const {
    return results_of(code, numbers_);
  }

  const StrategyHandle strategy_ = cohort::test::in_step_on(std::get<0>(GetParam()), 3);
  const PerReplica numbers_ = PerReplica::of({Tensor::scalar(1.0), Tensor::scalar(2.0), Tensor::scalar(6.0)});
};

TEST_P(MergeCall, RunsOnceOutsideOfReplicasWithTheValuesOfAll) {
  int runs = 0;
  const auto results = results_of([&](const Tensor& x) {
    const auto merge = [&](const std::vector<Tensors>& values) -> Tensors {
      ++runs;
      EXPECT_EQ(get_replica_context(), nullptr);
      return {strategy_.reduce(ReduceOp::Sum, PerReplica::of(values[0])), values[1][2],
              strategy_.gather(PerReplica::of({ops::reshape(values[0][1], {1}), ops::reshape(values[0][0], {1}),
                                               ops::reshape(values[0][2], {1})}))};
    };
    const Tensors merged = get_replica_context()->merge_call(merge, {x, x * 10.0});
    return merged[0] + merged[1] + x + merged[2] * 1000.0;
  });
  EXPECT_EQ(runs, 1);
  EXPECT_THAT(results, ElementsAre(ElementsAre(2070.0f, 1070.0f, 6070.0f), ElementsAre(2071.0f, 1071.0f, 6071.0f),
                                   ElementsAre(2075.0f, 1075.0f, 6075.0f)));
}

// What replicas have written before is there, and what it writes all of them see.
TEST_P(MergeCall, SeesAndWritesVariablesAsAWhole) {
  auto scope = strategy_.scope();
  Variable sum(Tensor::scalar(0.0), {.name = "sum", .aggregation = Aggregation::Sum});
  Variable apart(Tensor::scalar(0.0),
                 {.name = "apart", .aggregation = Aggregation::Sum, .synchronization = Synchronization::OnRead});
  const auto results = results_of([&](const Tensor& x) {
    sum.assign_add(x);
    apart.assign_add(x);
    get_replica_context()->merge_call(
        [&](const std::vector<Tensors>&) -> Tensors {
          sum.assign(sum.value() * 100.0 + apart.value());
          return {};
        },
        {});
    return sum.value();
  });
  EXPECT_THAT(results, ElementsAre(ElementsAre(909.0f), ElementsAre(909.0f), ElementsAre(909.0f)));
  EXPECT_EQ(sum.value().item<float>(), 909.0f);
  EXPECT_EQ(apart.value().item<float>(), 9.0f);
}

// Each replica has its own of them; sums count what is written together once.
TEST_P(MergeCall, WritesWhatReplicasHaveApart) {
  auto scope = strategy_.scope();
  const auto made = [](Aggregation aggregation, const Shape& shape) {
    return Variable(Tensor::full(shape, 0.0),
                    {.name = "apart", .aggregation = aggregation, .synchronization = Synchronization::OnRead});
  };
  Variable sum = made(Aggregation::Sum, {}), mean = made(Aggregation::Mean, {});
  Variable first = made(Aggregation::OnlyFirstReplica, {}), table = made(Aggregation::Sum, {2});
  const auto step = [&](const Tensor& x) {
    for (Variable* each : {&sum, &mean, &first, &table}) each->assign_add(x + ops::zeros_like(each->value()));
    const Tensors merged = get_replica_context()->merge_call(
        [&](const std::vector<Tensors>&) -> Tensors {
          for (Variable* each : {&sum, &mean, &first}) {
            each->assign_add(Tensor::scalar(1.0));
            each->assign_sub(Tensor::scalar(0.5));
          }
          table.scatter_add(Tensor::of<std::int32_t>({1}, {1}), Tensor::of({5.0f}, {1}));
          return {sum.value(), mean.value(), first.value(), table.value()};
        },
        {});
    for (Variable* each : {&sum, &mean, &first}) each->assign_add(x);
    return ops::concatenate({ops::stack({merged[0], merged[1], merged[2]}), merged[3]}, 0);
  };
  const auto seen = ElementsAre(9.5f, 3.5f, 1.5f, 9.0f, 14.0f);
  EXPECT_THAT(results_of(step), ElementsAre(seen, seen, seen));
  EXPECT_EQ(sum.value().item<float>(), 18.5f);
  EXPECT_EQ(mean.value().item<float>(), 6.5f);
  EXPECT_EQ(first.value().item<float>(), 2.5f);
  EXPECT_THAT(table.value().to_vector<float>(), ElementsAre(9.0f, 14.0f));
  results_of(step);
  EXPECT_EQ(sum.value().item<float>(), 37.0f);
  EXPECT_EQ(mean.value().item<float>(), 13.0f);
  EXPECT_THAT(table.value().to_vector<float>(), ElementsAre(18.0f, 28.0f));
}

TEST_P(MergeCall, BringsValuesOfAnyType) {
  const std::vector<DType> types = {DType::Bool,    DType::UInt8,    DType::Int32,  DType::Int64,
                                    DType::Float16, DType::BFloat16, DType::Float64};
  const auto results = results_of([&](const Tensor& x) {
    Tensors brought;
    for (const DType type : types) brought.push_back(ops::cast(x - 1.0, type));
    const Tensors merged = get_replica_context()->merge_call(
        [&](const std::vector<Tensors>& values) -> Tensors {
          Tensors all;
          for (std::size_t i = 0; i < values.size(); ++i) {
            EXPECT_EQ(values[i].size(), 3u);
            for (const Tensor& value : values[i]) {
              EXPECT_EQ(value.dtype(), types[i]);
              all.push_back(ops::cast(value, DType::Float32));
            }
          }
          return {ops::stack(all)};
        },
        brought);
    return merged[0];
  });
  std::vector<float> expected = {0, 1, 1};
  for (std::size_t i = 1; i < types.size(); ++i) expected.insert(expected.end(), {0, 1, 5});
  EXPECT_THAT(results, ElementsAre(expected, expected, expected));
}

// It has no say in sums, and yet comes to what all of them run together.
TEST_P(MergeCall, HasTheValueOfAReplicaWithoutASample) {
  const PerReplica numbers(std::vector<Element>(numbers_.values()), {1, 1, 0});
  const auto results = results_of(
      [](const Tensor& x) {
        const ReplicaContext* replica = get_replica_context();
        const auto merge = [](const std::vector<Tensors>& values) -> Tensors { return {total_of(values[0])}; };
        return replica->all_reduce(ReduceOp::Sum, x) * 100.0 + replica->merge_call(merge, {x})[0];
      },
      numbers);
  EXPECT_THAT(results, ElementsAre(ElementsAre(309.0f), ElementsAre(309.0f), ElementsAre(309.0f)));
}

TEST_P(MergeCall, LetsNoGradientThrough) {
  const auto results = results_of([](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const auto merge = [](const std::vector<Tensors>& values) -> Tensors { return {total_of(values[0])}; };
    const Tensor y = x * get_replica_context()->merge_call(merge, {x})[0];
    return tape.gradient(y, x);
  });
  EXPECT_THAT(results, ElementsAre(ElementsAre(9.0f), ElementsAre(9.0f), ElementsAre(9.0f)));
}

TEST_P(MergeCall, TellsWhatWentWrong) {
  const auto run = [&](const MergeFunction& merge) {
    return error_of([&] {
      results_of([&](const Tensor& x) {
        get_replica_context()->merge_call(merge, {x});
        return x;
      });
    });
  };
  EXPECT_THAT(run([](const std::vector<Tensors>&) -> Tensors { throw invalid_argument("Mine", "no", {}); }),
              HasSubstr("Mine: no"));
  EXPECT_THAT(run([&](const std::vector<Tensors>&) -> Tensors {
                strategy_.run([] {});
                return {};
              }),
              HasSubstr("a replica's code cannot run code on all replicas"));
  EXPECT_EQ(run([](const std::vector<Tensors>&) -> Tensors { return {}; }), "");
}

INSTANTIATE_TEST_SUITE_P(Strategies, MergeCall, kAllWays, name_of_way);

TEST(MergeCallInTraces, RefusesWhatGraphsDoNotGather) {
  const MirroredStrategy strategy(cohort::test::cpus(2));
  const auto error_with = [&](const Function& code, const PerReplica& values) {
    return error_of([&] { strategy.run(code, values); });
  };
  const auto first = [](const std::vector<Tensors>& values) -> Tensors { return {values[0][0]}; };
  EXPECT_THAT(error_with(function([&](const Tensor& x) {
                           get_replica_context()->merge_call(first, {Tensor::of_strings({"a"}, {})});
                           return x;
                         }),
                         Tensor::scalar(1.0)),
              HasSubstr("values must be numbers or truth values"));
  const PerReplica uneven = PerReplica::of({Tensor::of({1.0f, 2.0f}, {2}), Tensor::of({3.0f}, {1})});
  EXPECT_THAT(
      error_with(function([&](const Tensor& x) { return get_replica_context()->merge_call(first, {x})[0]; }), uneven),
      HasSubstr("every replica must bring values of the same shapes"));
  EXPECT_THAT(error_with(function([&](const Tensor& x) {
                           const ReplicaContext* replica = get_replica_context();
                           const auto again = [&](const std::vector<Tensors>&) {
                             return replica->merge_call(first, {x});
                           };
                           return replica->merge_call(again, {x})[0];
                         }),
                         Tensor::scalar(1.0)),
              HasSubstr("code of all replicas cannot call code of all replicas"));
}

// Its steps sum gradients up and scale them to a norm, together; so do those of one device by themselves.
class ClippedTogether : public Model {
 public:
  ClippedTogether()
      : hidden_(track("hidden", layers::Dense(4, {.activation = "tanh"}))), out_(track("out", layers::Dense(1))) {
    track_metric(norm);
  }
  Tensor call(const Tensor& x, const CallContext&) override { return out_(hidden_(x)); }
  void train_step(const Element& data) override {
    Variables variables;
    std::vector<Tensors> gradients;
    {
      GradientTape tape;
      const Element y_pred = forward(data[0], true);
      const Tensor loss = compute_loss(data[0], data[1], y_pred, {}, true);
      variables = trainable_variables();
      for (const Gradient& gradient : tape.gradient(loss, variables)) gradients.push_back({gradient.dense()});
    }
    const auto update = [&](const std::vector<Tensors>& values) -> Tensors {
      Tensors totals;
      Tensor squares = Tensor::scalar(0.0);
      for (const Tensors& of_replicas : values) {
        totals.push_back(total_of(of_replicas));
        squares = squares + ops::sum(totals.back() * totals.back());
      }
      Gradients clipped;
      for (const Tensor& total : totals) clipped.push_back(total * (0.5 / ops::sqrt(squares)));
      optimizer()->apply(clipped, variables);
      norm.update_state(ops::sqrt(squares));
      return {};
    };
    const ReplicaContext* replica = get_replica_context();
    if (!replica) {
      update(gradients);
      return;
    }
    Tensors brought;
    for (const Tensors& each : gradients) brought.push_back(each[0]);
    replica->merge_call(update, brought);
  }
  const metrics::Mean norm = metrics::Mean({.name = "norm"});

 private:
  layers::Dense hidden_, out_;
};

struct Clipped {
  std::vector<std::vector<float>> weights;
  std::vector<double> norms;
};

// The last batch has three samples: one replica of four gets none.
Clipped train_clipped(bool eagerly) {
  set_random_seed(11);
  ClippedTogether model;
  model.compile({.optimizer = optimizers::Adam(1e-2), .loss = "mse", .run_eagerly = eagerly});
  const History history =
      model.fit(waves({23, 3}), waves({23, 1}, 7), {.batch_size = 5, .epochs = 3, .verbose = 0, .shuffle = false});
  return {values_of(model), history["norm"]};
}

void expect_same_training(const Clipped& got, const Clipped& expected, double tolerance) {
  ASSERT_EQ(got.weights.size(), 4u);
  for (std::size_t i = 0; i < got.weights.size(); ++i) {
    EXPECT_THAT(got.weights[i],
                testing::Pointwise(testing::FloatNear(static_cast<float>(tolerance)), expected.weights[i]));
  }
  EXPECT_THAT(got.norms, testing::Pointwise(testing::DoubleNear(10 * tolerance), expected.norms));
}

class MergeCallInSteps : public testing::TestWithParam<std::tuple<InStep, bool>> {};

TEST_P(MergeCallInSteps, TrainsAsOneDevice) {
  const auto [kind, traced] = GetParam();
  const Clipped alone = train_clipped(!traced);
  const StrategyHandle strategy = cohort::test::in_step_on(kind, 4);
  auto scope = strategy.scope();
  expect_same_training(train_clipped(!traced), alone, 2e-5);
}

TEST(MergeCallOnAGpu, GathersThroughTheHost) {
  const std::string missing = error_of([] { device_named("GPU:0"); });
  if (!missing.empty()) GTEST_SKIP() << missing;
  const Clipped alone = train_clipped(false);
  const MirroredStrategy strategy({"GPU:0", "CPU:0"});
  auto scope = strategy.scope();
  expect_same_training(train_clipped(false), alone, 2e-3);
}

// A sum that a step reads and does not write is no sum of sums.
class ReadsASum : public Model {
 public:
  ReadsASum() : dense_(track("dense", layers::Dense(1))) { track_metric(seen); }
  Tensor call(const Tensor& x, const CallContext&) override { return dense_(x); }
  void train_step(const Element& data) override {
    Model::train_step(data);
    const ReplicaContext* replica = get_replica_context();
    const auto read = [&](const std::vector<Tensors>&) -> Tensors { return {total.value()}; };
    seen.update_state(replica->merge_call(read, {})[0]);
  }
  Variable total{Tensor::scalar(7.0),
                 {.name = "total",
                  .trainable = false,
                  .aggregation = Aggregation::Sum,
                  .synchronization = Synchronization::OnRead}};
  const metrics::Mean seen = metrics::Mean({.name = "seen"});

 private:
  layers::Dense dense_;
};

TEST_P(MergeCallInSteps, ReadsSumsThatNobodyWrites) {
  const auto [kind, traced] = GetParam();
  const StrategyHandle strategy = cohort::test::in_step_on(kind, 3);
  auto scope = strategy.scope();
  ReadsASum model;
  model.compile({.optimizer = "sgd", .loss = "mse", .run_eagerly = !traced});
  const History history = model.fit(waves({12, 3}), waves({12, 1}, 7), {.batch_size = 6, .epochs = 2, .verbose = 0});
  EXPECT_THAT(history["seen"], ElementsAre(7.0, 7.0));
}

class RunsWithin : public ClippedTogether {
 public:
  explicit RunsWithin(const StrategyHandle& strategy) : strategy_(strategy) {}
  void train_step(const Element& data) override {
    const auto merge = [&](const std::vector<Tensors>&) -> Tensors {
      strategy_.run([] {});
      return {};
    };
    get_replica_context()->merge_call(merge, {});
    ClippedTogether::train_step(data);
  }

 private:
  const StrategyHandle strategy_;
};

TEST_P(MergeCallInSteps, CannotRunCodeOnAllReplicas) {
  const auto [kind, traced] = GetParam();
  const StrategyHandle strategy = cohort::test::in_step_on(kind, 2);
  auto scope = strategy.scope();
  RunsWithin model(strategy);
  model.compile({.optimizer = "sgd", .loss = "mse", .run_eagerly = !traced});
  EXPECT_THAT(error_of([&] {
                model.fit(waves({4, 3}), waves({4, 1}), {.batch_size = 4, .verbose = 0});
              }),
              HasSubstr(traced ? "code that is traced cannot run code on all replicas"
                               : "a replica's code cannot run code on all replicas"));
}

INSTANTIATE_TEST_SUITE_P(Strategies, MergeCallInSteps, kAllWays, name_of_way);

// Two workers with two replicas each: what code runs on are the values of its own process.
TEST(MergeCallOfWorkers, HasTheValuesOfItsOwnReplicas) {
  for (const bool traced : {false, true}) {
    SCOPED_TRACE(traced);
    std::vector<std::thread> threads;
    auto ranks = collective::make_local_communicators(2);
    for (int worker = 0; worker < 2; ++worker) {
      const auto work = [traced, worker, rank = std::shared_ptr(std::move(ranks[static_cast<std::size_t>(worker)]))] {
        ReplicaSet set({&device_named("CPU:0"), &device_named("CPU:1")}, rank);
        Variable apart(Tensor::scalar(0.0),
                       {.name = "apart", .aggregation = Aggregation::Sum, .synchronization = Synchronization::OnRead});
        const auto code = [&](const Tensor& x) {
          const ReplicaContext* replica = get_replica_context();
          apart.assign_add(x);
          const auto merge = [&](const std::vector<Tensors>& values) -> Tensors {
            apart.assign_add(Tensor::scalar(100.0));
            return {values[0][0] * 10.0 + values[0][1] + apart.value()};
          };
          return replica->merge_call(merge, {x})[0] + replica->all_reduce(ReduceOp::Sum, x) * 1000.0;
        };
        const Function graph = function(code);
        std::vector<float> results(2);
        set.run_code({1, 1}, [&](int replica) {
          const Tensor x = Tensor::scalar(worker * 2.0 + replica);
          results[static_cast<std::size_t>(replica)] = Tensor(traced ? Tensor(graph(x)) : code(x)).item<float>();
        });
        const float expected = worker == 0 ? 6000.0f + 1.0f + 101.0f : 6000.0f + 23.0f + 105.0f;
        EXPECT_THAT(results, ElementsAre(expected, expected));
        set.variables().gather();
        EXPECT_EQ(apart.value().item<float>(), worker == 0 ? 101.0f : 105.0f);
      };
      threads.emplace_back([work] { EXPECT_EQ(error_of(work), ""); });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace cohort::distribute
