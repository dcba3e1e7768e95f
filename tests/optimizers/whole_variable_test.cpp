#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/core/dispatch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/core/update_layout.h"
#include "cohort/graph/function.h"
#include "cohort/ops/cast.h"
#include "cohort/optimizers/adafactor.h"
#include "cohort/optimizers/ftrl.h"
#include "cohort/optimizers/lamb.h"
#include "cohort/optimizers/loss_scale_optimizer.h"
#include "cohort/optimizers/muon.h"
#include "cohort/optimizers/schedule_free_adamw.h"
#include "tests/support/allocations.h"
#include "tests/support/error_of.h"
#include "tests/support/op_check.h"

// Optimizers that look across a whole variable update all variables of a kind at once all the same.

namespace cohort {
namespace {

using MakeWholeVariableOptimizer = Ref<Optimizer> (*)();
const std::vector<MakeWholeVariableOptimizer> kWholeVariableOptimizers = {
    [] { return Ref<Optimizer>(optimizers::Adafactor(0.1, {.weight_decay = 0.1})); },
    [] { return Ref<Optimizer>(optimizers::Muon(0.1)); },
    [] { return Ref<Optimizer>(optimizers::Lamb(0.1)); },
};

// Matrices of one block and of many, tall, wide and thin, a kernel of four axes, vectors and a scalar.
const std::vector<Shape> kShapes = {{6, 4},     {5, 9},         {300, 170}, {170, 300}, {1, 40000},
                                    {40000, 1}, {3, 3, 20, 70}, {70000},    {3},        {}};

Variables variables_of_all_shapes() {
  Variables result;
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    result.push_back(Variable(test::spread_tensor(kShapes[i], -1, 1, DType::Float32, static_cast<unsigned>(i)),
                              {.name = "weight_" + std::to_string(i)}));
  }
  return result;
}
Gradients gradients_of_all_shapes(unsigned step) {
  Gradients result;
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    result.push_back(test::spread_tensor(kShapes[i], -1, 1, DType::Float32, 50 * step + static_cast<unsigned>(i)));
  }
  return result;
}

std::vector<std::vector<float>> trained_on(int threads, MakeWholeVariableOptimizer make) {
  ThreadPool& pool = ThreadPool::instance();
  const int before = pool.threads();
  pool.set_threads(threads);
  const Variables variables = variables_of_all_shapes();
  const Ref<Optimizer> optimizer = make();
  for (unsigned step = 1; step <= 2; ++step) optimizer->apply(gradients_of_all_shapes(step), variables);
  default_device().synchronize();
  pool.set_threads(before);
  std::vector<std::vector<float>> values;
  for (const Variable& variable : variables) values.push_back(read_now(variable).to_vector<float>());
  return values;
}

TEST(WholeVariableOptimizers, GiveTheSameBitsOnAnyNumberOfThreads) {
  for (const MakeWholeVariableOptimizer make : kWholeVariableOptimizers) {
    SCOPED_TRACE(make()->class_name());
    const std::vector<std::vector<float>> one = trained_on(1, make);
    EXPECT_EQ(one, trained_on(2, make));
    EXPECT_EQ(one, trained_on(4, make));
  }
}

// Muon has a kind for matrices and one for the rest, Adafactor too.
TEST(WholeVariableOptimizers, UpdateAllVariablesOfAKindAtOnceWithoutAllocating) {
  for (const MakeWholeVariableOptimizer make : kWholeVariableOptimizers) {
    const Ref<Optimizer> optimizer = make();
    SCOPED_TRACE(optimizer->class_name());
    const Variables variables = variables_of_all_shapes();
    Tensors gradients;
    for (const Gradient& each : gradients_of_all_shapes(1)) gradients.push_back(each);
    Specs specs;
    for (const Tensor& each : gradients) specs.push_back(each.spec());
    optimizer->ensure_built(variables);
    const TracedGraph traced = trace(specs, [&](const Tensors& given) -> Tensors {
      optimizer->apply(Gradients(given.begin(), given.end()), variables);
      return {given.back()};
    });
    Tensors inputs = gradients;
    inputs.insert(inputs.end(), traced.captures.begin(), traced.captures.end());
    for (std::size_t i = specs.size(); i < inputs.size(); ++i) specs.push_back(inputs[i].spec());
    const std::shared_ptr<Executable> step = compile(*traced.graph, specs, default_device());
    const std::vector<Node>& nodes = step->graph().nodes;
    const auto updates =
        std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return UpdateLayout::describes(*node.op); });
    EXPECT_EQ(updates, optimizer->class_name() == "Lamb" ? 1 : 2);

    Tensors outputs(1);
    const auto run = [&] {
      step->run(inputs, outputs, {});
      default_device().synchronize();
    };
    run();
    run();
    const std::uint64_t before = test::allocations();
    for (int i = 0; i < 3; ++i) run();
    EXPECT_EQ(test::allocations() - before, 0u);
  }
}

// Half types are computed in float; what is stored is rounded.
TEST(WholeVariableOptimizers, TakeEveryFloatingType) {
  for (const MakeWholeVariableOptimizer make : kWholeVariableOptimizers) {
    SCOPED_TRACE(make()->class_name());
    const auto moved = [&](DType dtype) {
      const Variable matrix(test::spread_tensor({6, 4}, -1, 1, dtype, 1), {.name = "kernel", .dtype = dtype});
      make()->apply({test::spread_tensor({6, 4}, -1, 1, dtype, 2)}, {matrix});
      return ops::cast(read_now(matrix), DType::Float64).to_vector<double>();
    };
    const std::vector<double> exact = moved(DType::Float64);
    for (const DType dtype : {DType::Float32, DType::Float16, DType::BFloat16}) {
      const std::vector<double> got = moved(dtype);
      const double tolerance = dtype == DType::Float32 ? 1e-5 : dtype == DType::Float16 ? 5e-3 : 4e-2;
      for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(got[i], exact[i], tolerance) << to_string(dtype);
    }
  }
}

// Graphs come from elsewhere too: slots of another shape than a kernel takes them for are refused.
TEST(WholeVariableOptimizers, CheckTheShapesOfTheirSlots) {
  const Variable matrix(Tensor::full({3, 2}, 1.0)), rows(Tensor::full({3}, 1.0)), columns(Tensor::full({2}, 1.0));
  const Tensor gradient = Tensor::full({3, 2}, 1.0), rate = Tensor::scalar(0.1), done = Tensor::scalar(0, DType::Int64);
  Attributes attributes = UpdateLayout::attributes(3, false);
  attributes.set("factored", true);
  const auto factored = [&](const Variable& first, const Variable& second) {
    run_op_all("AdafactorUpdate",
               {matrix.handle(), matrix.handle(), first.handle(), second.handle(), gradient, rate, done}, attributes);
  };
  EXPECT_NO_THROW(factored(rows, columns));
  EXPECT_THROW(factored(columns, rows), Error);
  EXPECT_THROW(factored(matrix, columns), Error);
  EXPECT_THROW(
      run_op_all("AdafactorUpdate",
                 {rows.handle(), rows.handle(), rows.handle(), rows.handle(), Tensor::full({3}, 1.0), rate, done},
                 attributes),
      Error);
  EXPECT_THROW(run_op_all("MuonUpdate", {rows.handle(), rows.handle(), Tensor::full({3}, 1.0), rate}), Error);
}

TEST(WholeVariableOptimizers, SayThatTheyAre) {
  EXPECT_TRUE(optimizers::Lamb()->needs_whole_variable());
  EXPECT_TRUE(optimizers::Adafactor()->needs_whole_variable());
  EXPECT_TRUE(optimizers::Muon()->needs_whole_variable());
  EXPECT_TRUE(optimizers::LossScaleOptimizer(optimizers::Lamb())->needs_whole_variable());
  EXPECT_FALSE(optimizers::Ftrl()->needs_whole_variable());
  EXPECT_FALSE(optimizers::ScheduleFreeAdamW()->needs_whole_variable());
}

}  // namespace
}  // namespace cohort
