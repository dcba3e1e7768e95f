#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "cohort/autodiff/control_flow.h"
#include "cohort/core/random.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/math.h"
#include "cohort/ops/random_ops.h"

namespace cohort {
namespace {

constexpr std::uint64_t kSeed = 5;

Tensor draw() { return ops::random_uniform({}, 0, 1, DType::Float32, kSeed); }

// What a function of one tensor gives in one and the same step.
Tensor in_a_step(const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
  const TracedGraph traced = trace({x.spec()}, [&](const Tensors& inputs) { return Tensors{f(inputs[0])}; });
  const Tensors inputs{x};
  Tensors outputs(1);
  compile(*traced.graph, {x.spec()}, default_device())->run(inputs, outputs, {.seed = 1, .step = 2});
  return outputs[0];
}

std::vector<float> scanned(bool reverse) {
  return in_a_step(Tensor::of({0.0f, 0.0f, 0.0f, 0.0f}, {4}),
                   [&](const Tensor& x) {
                     return ops::scan(
                                [](const Tensors& carry, const Tensors&) {
                                  const Tensor drawn = draw();
                                  return Tensors{carry[0] + drawn, drawn};
                                },
                                {Tensor::scalar(0)}, {x}, {.reverse = reverse})
                         .sequences[0];
                   })
      .to_vector<float>();
}

float looped(std::int64_t turns) {
  return in_a_step(Tensor::scalar(0),
                   [&](const Tensor& x) {
                     return ops::while_loop([](const Tensors& state) { return state[0] >= 0.0; },
                                            [](const Tensors& state) { return Tensors{state[0] + draw()}; }, {x},
                                            {.maximum_iterations = turns})[0];
                   })
      .item<float>();
}

TEST(ControlFlow, DrawsOtherNumbersInEachTurn) {
  const std::vector<float> drawn = scanned(false);
  EXPECT_EQ(std::set<float>(drawn.begin(), drawn.end()).size(), 4u);
  // Where a number is drawn is a matter of its place, not of the order.
  EXPECT_EQ(scanned(true), drawn);
  // The turns of all loops draw alike.
  for (std::int64_t turns = 0; turns <= 4; ++turns) {
    float sum = 0;
    for (std::int64_t i = 0; i < turns; ++i) sum += drawn[static_cast<std::size_t>(i)];
    EXPECT_EQ(looped(turns), sum);
  }
}

TEST(ControlFlow, DrawsWhatTheStateOfATurnSays) {
  const RandomState loop{.seed = 7, .epoch = 1, .step = 2, .first_sample = 3};
  const RandomState first = turn_of(loop, 0), second = turn_of(loop, 1);
  EXPECT_NE(first.seed, second.seed);
  EXPECT_NE(first.seed, loop.seed);
  EXPECT_EQ(second.epoch, loop.epoch);
  EXPECT_EQ(second.step, loop.step);
  EXPECT_EQ(second.first_sample, loop.first_sample);
}

}  // namespace
}  // namespace cohort
