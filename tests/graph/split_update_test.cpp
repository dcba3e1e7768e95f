#include "cohort/graph/split_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/autodiff/control_flow.h"
#include "cohort/core/collective.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/collectives.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/reduce.h"
#include "cohort/variables/variable.h"

namespace cohort {
namespace {

using ::testing::Contains;
using ::testing::Not;

class Nobody : public Collective {
 public:
  Nobody() : Collective("nobody") {}
  void all_reduce(std::span<const Part>, const void* const*, void* const*, Reduction) override {}
};

// A step with an update of `weight` and a count of samples, which is not updated in the same place.
struct Step {
  const Tensor collective = Tensor::of_resource(std::make_shared<Nobody>());
  Variable weight{Tensor::full({3, 2}, 1.0), {.name = "weight"}};
  Variable count{Tensor::scalar(0.0), {.name = "count"}};

  std::optional<SplitStep> split(const std::function<Tensors(const Tensors&)>& body) const {
    const TracedGraph traced = trace({{DType::Float32, {kUnknown, 3}}}, body);
    std::vector<int> updated, collectives;
    for (std::size_t i = 0; i < traced.captures.size(); ++i) {
      const Resource* resource = traced.captures[i].resource().get();
      const int input = traced.num_arguments + static_cast<int>(i);
      if (resource == weight.handle().resource().get()) updated.push_back(input);
      if (resource == collective.resource().get()) collectives.push_back(input);
    }
    return split_update(*traced.graph, updated, collectives);
  }
};

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(node.op->name());
  return names;
}

TEST(SplitUpdate, LeavesTheUpdateToOnePlace) {
  Step step;
  const std::optional<SplitStep> split = step.split([&](const Tensors& x) -> Tensors {
    const Tensor y = ops::matmul(x[0], step.weight.value());
    const Tensor gradient = ops::matmul(x[0], y, true, false);
    step.weight.assign_sub(ops::all_reduce_sum(step.collective, {gradient})[0] * 0.1);
    step.count.assign_add(ops::sum(x[0]));
    return {y};
  });
  ASSERT_TRUE(split);
  EXPECT_THAT(ops_of(split->compute.graph), Contains("AllReduce"));
  EXPECT_THAT(ops_of(split->compute.graph), Contains("AssignAddVariable"));
  EXPECT_THAT(ops_of(split->compute.graph), Not(Contains("AssignSubVariable")));
  EXPECT_EQ(split->compute.graph.outputs.size(), 1u);
  EXPECT_EQ(split->compute.inputs.size(), 4u);
  EXPECT_THAT(ops_of(split->update.graph), Contains("AllReduce"));
  EXPECT_THAT(ops_of(split->update.graph), Contains("AssignSubVariable"));
  EXPECT_THAT(ops_of(split->update.graph), Not(Contains("MatMul")));
  EXPECT_THAT(ops_of(split->update.graph), Not(Contains("AssignAddVariable")));
  EXPECT_EQ(split->update.inputs.size(), 2u);
}

TEST(SplitUpdate, KeepsWritesThatAreReadAfterwards) {
  Step step;
  const std::optional<SplitStep> split = step.split([&](const Tensors& x) -> Tensors {
    const Tensor gradient = ops::matmul(x[0], ops::matmul(x[0], step.weight.value()), true, false);
    step.weight.assign_sub(ops::all_reduce_sum(step.collective, {gradient})[0]);
    return {step.weight.value()};
  });
  ASSERT_TRUE(split);
  EXPECT_THAT(ops_of(split->compute.graph), Contains("AssignSubVariable"));
}

// What replicas put together is the update's alone to use.
TEST(SplitUpdate, LeavesTheUpdateFromGatheredValuesToOnePlace) {
  Step step;
  const std::optional<SplitStep> split = step.split([&](const Tensors& x) -> Tensors {
    const Tensor gradient = ops::matmul(x[0], ops::matmul(x[0], step.weight.value()), true, false);
    const Tensors all = ops::gather_replicas(step.collective, {gradient}, 2)[0];
    step.weight.assign_sub(all[0] + all[1]);
    step.count.assign_add(ops::sum(x[0]));
    return {};
  });
  ASSERT_TRUE(split);
  EXPECT_THAT(ops_of(split->compute.graph), Contains("GatherReplicas"));
  EXPECT_THAT(ops_of(split->compute.graph), Not(Contains("AssignSubVariable")));
  EXPECT_THAT(ops_of(split->update.graph), Contains("GatherReplicas"));
  EXPECT_THAT(ops_of(split->update.graph), Contains("AssignSubVariable"));
  EXPECT_THAT(ops_of(split->update.graph), Not(Contains("MatMul")));
}

TEST(SplitUpdate, IsNotMadeWhereReplicasMeetForValuesOfUnknownShape) {
  Step step;
  EXPECT_FALSE(step.split([&](const Tensors& x) -> Tensors {
    const Tensor all = ops::all_reduce_sum(step.collective, {x[0]})[0];
    step.weight.assign_sub(ops::matmul(all, ops::matmul(all, step.weight.value()), true, false));
    return {};
  }));
}

}  // namespace
}  // namespace cohort
