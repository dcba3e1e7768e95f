#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/core/kernel.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/function.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/ops.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/support/error_of.h"
#include "tests/support/op_check.h"
#include "tests/support/thread_rounds.h"

namespace cohort {
namespace {

constexpr const char* kBySlices = "AdamSlicesUpdate";
constexpr std::int64_t kTableRows = 1500, kTableWidth = 37, kSliceCount = 64;

struct SlicedStep {
  optimizers::AdamOptions options;
  DType dtype = DType::Float32;

  Variable table() const {
    return Variable(test::spread_tensor({kTableRows, kTableWidth}, -1, 1, dtype, 1), {.name = "table", .dtype = dtype});
  }
  // Rows that come twice, one that comes in every step, and many that never do.
  static Tensor indices(int step) {
    std::vector<std::int32_t> rows(kSliceCount);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i] = i % 9 == 0 ? 7 : static_cast<std::int32_t>((i / 2 * 31 + static_cast<std::size_t>(step) * 17) % 1200);
    }
    return Tensor::of(rows, {kSliceCount});
  }
  Tensor values(int step) const {
    return test::spread_tensor({kSliceCount, kTableWidth}, -1, 1, dtype, static_cast<unsigned>(10 + step));
  }
  static void apply(const Ref<Optimizer>& optimizer, const Variable& table, const Tensor& values,
                    const Tensor& indices) {
    optimizer->apply({IndexedSlices{values, indices, table.value()}}, {table});
  }
};

std::vector<double> numbers_of(const Variable& variable) {
  return ops::cast(read_now(variable), DType::Float64).to_vector<double>();
}

std::vector<SlicedStep> all_forms() {
  return {{},
          {.options = {.amsgrad = true}},
          {.options = {.weight_decay = 0.01}},
          {.options = {}, .dtype = DType::Float64},
          {.options = {.amsgrad = true}, .dtype = DType::Float64}};
}

// Of the same bits as the update by a gradient that is laid out, whoever computes.
TEST(AdamSlices, MoveATableAsTheWholeGradientDoes) {
  for (const SlicedStep& form : all_forms()) {
    const Variable whole = form.table(), sliced = form.table();
    const Ref<Optimizer> eager = optimizers::Adam(0.1, form.options), traced = optimizers::Adam(0.1, form.options);
    Function step = function([&](Tensor values, Tensor indices) {
      SlicedStep::apply(traced, sliced, values, indices);
      return indices;
    });
    const test::PoolThreads pool;
    int i = 0;
    for (const int threads : {1, 2, 3, 5, 8, 16}) {
      SlicedStep::apply(eager, whole, form.values(i), SlicedStep::indices(i));
      pool.set(threads);
      step(form.values(i), SlicedStep::indices(i));
      EXPECT_EQ(numbers_of(sliced), numbers_of(whole)) << threads << " threads";
      ++i;
    }
  }
}

int count_by_slices(const std::function<Tensors(const Tensors&)>& body) {
  const Tensors arguments = {SlicedStep{}.values(0), SlicedStep::indices(0)};
  const Specs specs = {arguments[0].spec(), arguments[1].spec()};
  const TracedGraph traced = trace(specs, body);
  Specs all = specs;
  for (const Tensor& capture : traced.captures) all.push_back(capture.spec());
  const auto executable = compile(*traced.graph, all, default_device());
  const auto& nodes = executable->graph().nodes;
  return static_cast<int>(
      std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.op->name() == kBySlices; }));
}

TEST(AdamSlices, AreTakenWhereNobodyElseNeedsTheWholeGradient) {
  const Variable table = SlicedStep{}.table();
  const Ref<Optimizer> adam = optimizers::Adam(0.1), clipped = optimizers::Adam(0.1, {.clipvalue = 0.1});
  const auto update = [&](const Tensors& in) {
    SlicedStep::apply(adam, table, in[0], in[1]);
    return Tensors{in[1]};
  };
  const bool on_cpu = default_device().kernel_type() == kCPU;
  EXPECT_EQ(count_by_slices(update), on_cpu ? 1 : 0);
  EXPECT_EQ(count_by_slices([&](const Tensors& in) {
              SlicedStep::apply(clipped, table, in[0], in[1]);
              return Tensors{in[1]};
            }),
            on_cpu ? 1 : 0);
  EXPECT_EQ(count_by_slices([&](const Tensors& in) {
              const Gradient slices = IndexedSlices{in[0], in[1], table.value()};
              const Tensor whole = slices.dense();
              adam->apply({slices}, {table});
              return Tensors{ops::sum(whole)};
            }),
            0);
}

TEST(AdamSlices, RefuseRowsThatTheTableHasNot) {
  const SlicedStep form;
  const Variable table = form.table();
  const Ref<Optimizer> adam = optimizers::Adam(0.1);
  Function step = function([&](Tensor values, Tensor indices) {
    SlicedStep::apply(adam, table, values, indices);
    return indices;
  });
  const std::vector<double> before = numbers_of(table);
  const Tensor beyond = Tensor::of(std::vector<std::int32_t>(kSliceCount, kTableRows), {kSliceCount});
  const auto move = [&] {
    step(form.values(0), beyond);
    default_device().synchronize();
  };
  test::expect_error(move, {"indices[0]=1500", "[0, 1500)"});
  EXPECT_EQ(numbers_of(table), before);
}

}  // namespace
}  // namespace cohort
