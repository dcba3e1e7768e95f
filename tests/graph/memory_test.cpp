#include "cohort/graph/passes/memory.h"

#include <gtest/gtest.h>

#include "cohort/graph/specialize.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/ops.h"

namespace cohort {
namespace {

// Of what a pooling read its gradient wants the shape only: another value can have its memory in between.
TEST(PlanMemory, KeepsNoValueForItsShape) {
  using Sizes = std::vector<std::int64_t>;
  const Attributes window = {{"pool_size", Sizes{2, 2}}, {"strides", Sizes{2, 2}}, {"padding", "valid"}};
  const Specs specs = {{DType::Float32, {1, 64, 64, 8}}, {DType::Float32, {1, 32, 32, 8}}};
  const auto bytes_of = [&](const char* gradient) {
    const auto body = [&](const Tensors& inputs) {
      const Tensor read = ops::exp(inputs[0]);
      const Tensors pooled = run_op_all("MaxPool", {read}, window);
      const Tensor between = ops::sum(ops::cumsum(ops::sin(inputs[0]), 1));
      const Tensors operands =
          std::string(gradient) == "MaxPoolGrad" ? Tensors{inputs[1], pooled[1], read} : Tensors{read, pooled[1]};
      return Tensors{ops::sum(run_op(gradient, operands, window)), between, ops::sum(pooled[0])};
    };
    return passes::plan_memory(specialize(*trace(specs, body).graph, specs), true).arena_bytes;
  };
  constexpr std::size_t kImage = 64 * 64 * 8 * sizeof(float), kPooledIndex = 32 * 32 * 8;
  // The sine and its sums are two images; a select reads the values themselves and keeps a third one.
  EXPECT_LT(bytes_of("MaxPoolGrad"), 2 * kImage + kImage / 4 + kPooledIndex + 4096);
  EXPECT_GE(bytes_of("MaxPoolSelect"), 3 * kImage);
}

}  // namespace
}  // namespace cohort
