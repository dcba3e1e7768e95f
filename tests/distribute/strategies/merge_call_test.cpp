// Code that replicas in step run together, once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "tests/support/error_of.h"
#include "tests/support/in_step_strategies.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using cohort::test::InStep;
using testing::ElementsAre;
using testing::HasSubstr;

class MergeCall : public testing::TestWithParam<InStep> {
 protected:
  const StrategyHandle strategy_ = cohort::test::in_step_on(GetParam(), 3);
  const PerReplica numbers_ = PerReplica::of({Tensor::scalar(1.0), Tensor::scalar(2.0), Tensor::scalar(6.0)});
};

TEST_P(MergeCall, RunsOnceOutsideOfReplicasWithTheValuesOfAll) {
  int runs = 0;
  const PerReplica results = strategy_.run(
      [&](const Tensor& x) {
        const auto merge = [&](const std::vector<Tensors>& values) -> Tensors {
          ++runs;
          EXPECT_EQ(get_replica_context(), nullptr);
          return {strategy_.reduce(ReduceOp::Sum, PerReplica::of(values[0])), values[1][2]};
        };
        const Tensors merged = get_replica_context()->merge_call(merge, {x, x * 10.0});
        return merged[0] + merged[1] + x;
      },
      numbers_);
  EXPECT_EQ(runs, 1);
  std::vector<float> seen;
  for (const Tensor& result : strategy_.experimental_local_results(results)) seen.push_back(result.item<float>());
  EXPECT_THAT(seen, ElementsAre(70.0f, 71.0f, 75.0f));
}

// What replicas have written before is there, and what it writes all of them see.
TEST_P(MergeCall, SeesAndWritesVariablesAsAWhole) {
  auto scope = strategy_.scope();
  Variable sum(Tensor::scalar(0.0), {.name = "sum", .aggregation = Aggregation::Sum});
  Variable apart(Tensor::scalar(0.0),
                 {.name = "apart", .aggregation = Aggregation::Sum, .synchronization = Synchronization::OnRead});
  const PerReplica results = strategy_.run(
      [&](const Tensor& x) {
        sum.assign_add(x);
        apart.assign_add(x);
        get_replica_context()->merge_call(
            [&](const std::vector<Tensors>&) -> Tensors {
              sum.assign(sum.value() * 100.0 + apart.value());
              return {};
            },
            {});
        return sum.value();
      },
      numbers_);
  for (const Tensor& result : strategy_.experimental_local_results(results)) EXPECT_EQ(result.item<float>(), 909.0f);
  EXPECT_EQ(sum.value().item<float>(), 909.0f);
  EXPECT_EQ(apart.value().item<float>(), 9.0f);
}

TEST_P(MergeCall, TellsWhatWentWrong) {
  const auto run = [&](const MergeFunction& merge) {
    return error_of(
        [&] { strategy_.run([&](const Tensor& x) { get_replica_context()->merge_call(merge, {x}); }, numbers_); });
  };
  EXPECT_THAT(run([](const std::vector<Tensors>&) -> Tensors { throw invalid_argument("Mine", "no", {}); }),
              HasSubstr("Mine: no"));
  EXPECT_THAT(run([&](const std::vector<Tensors>&) -> Tensors {
                strategy_.run([] {});
                return {};
              }),
              HasSubstr("a replica's code cannot run code on all replicas"));
  const Function traced = function([](const Tensor& x) {
    return get_replica_context()->merge_call([](const std::vector<Tensors>& values) { return values[0]; }, {x})[0];
  });
  EXPECT_THAT(error_of([&] { strategy_.run(traced, numbers_); }), HasSubstr("code that is traced runs once for all"));
  EXPECT_EQ(run([](const std::vector<Tensors>&) -> Tensors { return {}; }), "");
}

INSTANTIATE_TEST_SUITE_P(Strategies, MergeCall, testing::Values(InStep::Mirrored, InStep::CentralStorage),
                         [](const auto& info) { return cohort::test::name_of(info.param); });

}  // namespace
}  // namespace cohort::distribute
