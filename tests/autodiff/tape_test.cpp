#include "cohort/autodiff/tape.h"

#include <gtest/gtest.h>

#include "cohort/autodiff/control_flow.h"
#include "cohort/graph/function.h"
#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/reduce.h"
#include "cohort/variables/variable.h"
#include "tests/support/vector.h"

namespace cohort {
namespace {

TEST(GradientTape, DifferentiatesAProduct) {
  const Tensor x = vector({1, 2, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = ops::sum(x * x * x);
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), (std::vector<float>{3, 12, 27}));
}

TEST(GradientTape, WatchesVariablesByItself) {
  Variable w(vector({2, 4}), {.name = "w"});
  GradientTape tape;
  const Tensor y = ops::sum(w * w);
  const Gradients g = tape.gradient(y, std::vector<Variable>{w});
  EXPECT_EQ(g[0].dense().to_vector<float>(), (std::vector<float>{4, 8}));
}

TEST(GradientTape, SecondOrderThroughNestedTapes) {
  const Tensor x = vector({3});
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = ops::sum(x * x * x);
  const Tensor first = inner.gradient(y, x);
  EXPECT_EQ(first.item<float>(), 27);
  EXPECT_EQ(outer.gradient(ops::sum(first), x).item<float>(), 18);
}

TEST(GradientTape, PersistentGivesSeveralGradientsOthersOne) {
  const Tensor x = vector({2});
  GradientTape once;
  once.watch(x);
  const Tensor y = x * x;
  once.gradient(y, x);
  EXPECT_THROW(once.gradient(y, x), Error);

  GradientTape many({.persistent = true});
  many.watch(x);
  const Tensor a = x * x, b = a * x;
  EXPECT_EQ(many.gradient(a, x).item<float>(), 4);
  EXPECT_EQ(many.gradient(b, x).item<float>(), 12);
}

TEST(GradientTape, UnconnectedSourceHasNoGradient) {
  const Tensor x = vector({2}), z = vector({1});
  GradientTape tape;
  tape.watch(x);
  tape.watch(z);
  const Gradients g = tape.gradient(ops::sum(x), std::vector<Tensor>{x, z});
  EXPECT_TRUE(g[0].defined());
  EXPECT_FALSE(g[1].defined());
}

TEST(GradientTape, Jacobian) {
  const Tensor x = vector({1, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  const Tensor j = tape.jacobian(y, x);
  EXPECT_EQ(j.shape(), (Shape{2, 2}));
  EXPECT_EQ(j.to_vector<float>(), (std::vector<float>{2, 0, 0, 4}));
}

TEST(GradientTape, CustomGradientReplacesTheRealOne) {
  const Tensor x = vector({1, 2});
  auto forward = [](const Tensors& in) {
    return std::pair<Tensor, CustomGradient>(in[0] * in[0], [](const Tensor& dy) { return Tensors{dy * 100.0}; });
  };
  GradientTape tape;
  tape.watch(x);
  const Tensor y = custom_gradient(forward, {x});
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1, 4}));
  EXPECT_EQ(tape.gradient(ops::sum(y), x).to_vector<float>(), (std::vector<float>{100, 100}));
}

TEST(GradientTape, DifferentiatesThroughAFunction) {
  Variable w(vector({2, 4}), {.name = "w"});
  Function f = function([&](Tensor x) { return ops::sum(x * w * w); });
  const Tensor x = vector({1, 10});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  const Gradients g = tape.gradient(y, std::vector<Tensor>{x, w.handle()});
  EXPECT_EQ(g[0].dense().to_vector<float>(), (std::vector<float>{4, 16}));
  EXPECT_EQ(g[1].dense().to_vector<float>(), (std::vector<float>{4, 80}));
}

TEST(GradientTape, InsideATraceTheGradientIsPartOfTheGraph) {
  Function f = function([](Tensor x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(ops::sum(x * x), x);
  });
  EXPECT_EQ(Tensor(f(vector({1, 5}))).to_vector<float>(), (std::vector<float>{2, 10}));
}

// Each runs eagerly and traced: results and gradients must agree.
class ControlFlow : public ::testing::TestWithParam<bool> {
 protected:
  // d sum(f(x)) / dx and f(x)
  std::pair<std::vector<float>, std::vector<float>> run(const std::function<Tensor(const Tensor&)>& f,
                                                        const Tensor& x) {
    auto both = [&](const Tensors& in) -> Tensors {
      GradientTape tape;
      tape.watch(in[0]);
      const Tensor y = f(in[0]);
      return {y, tape.gradient(ops::sum(y), in[0])};
    };
    Tensors out = GetParam() ? Tensors(function(both).call({x})) : both({x});
    return {out[0].to_vector<float>(), out[1].to_vector<float>()};
  }
};

TEST_P(ControlFlow, CondTakesTheBranch) {
  auto f = [](const Tensor& x) {
    return ops::cond(
        ops::greater(ops::sum(x), Tensor::scalar(0.0)), [&] { return Tensors{x * x}; },
        [&] { return Tensors{x * -3.0}; })[0];
  };
  EXPECT_EQ(run(f, vector({1, 2})).first, (std::vector<float>{1, 4}));
  EXPECT_EQ(run(f, vector({1, 2})).second, (std::vector<float>{2, 4}));
  EXPECT_EQ(run(f, vector({-1, -2})).first, (std::vector<float>{3, 6}));
  EXPECT_EQ(run(f, vector({-1, -2})).second, (std::vector<float>{-3, -3}));
}

TEST_P(ControlFlow, WhileLoopWithALimitHasAGradient) {
  auto f = [](const Tensor& x) {
    return ops::while_loop([](const Tensors& v) { return ops::less(ops::sum(v[0]), Tensor::scalar(100.0)); },
                           [](const Tensors& v) { return Tensors{v[0] * v[0]}; }, {x}, {.maximum_iterations = 10})[0];
  };
  // 3 -> 9 -> 81 -> 6561
  EXPECT_EQ(run(f, vector({3})).first, (std::vector<float>{6561}));
  EXPECT_EQ(run(f, vector({3})).second, (std::vector<float>{8 * 2187}));
}

TEST_P(ControlFlow, ScanCarriesAndStacks) {
  auto f = [](const Tensor& x) {
    const ops::ScanResult r = ops::scan(
        [](const Tensors& carry, const Tensors& slice) {
          return Tensors{carry[0] * slice[0], carry[0] + slice[0]};
        },
        {Tensor::scalar(1.0)}, {x});
    return ops::concatenate({ops::reshape(r.carries[0], {1}), r.sequences[0]}, 0);
  };
  // product of all; running products plus the element
  const auto [y, dx] = run(f, vector({2, 3, 4}));
  EXPECT_EQ(y, (std::vector<float>{24, 3, 5, 10}));
  // d/dx0: 12 + 1 + 1 + 3, d/dx1: 8 + 1 + 2, d/dx2: 6 + 1
  EXPECT_EQ(dx, (std::vector<float>{17, 11, 7}));
}

TEST_P(ControlFlow, ScanGradientReachesCaptures) {
  auto f = [](const Tensor& x) {
    const Tensor steps = Tensor::of<float>({1, 2, 3}, {3});
    return ops::scan([&](const Tensors& carry, const Tensors& slice) { return Tensors{carry[0] + slice[0] * x}; },
                     {ops::zeros_like(x)}, {steps}, {.reverse = true})
        .carries[0];
  };
  EXPECT_EQ(run(f, vector({5, 7})).first, (std::vector<float>{30, 42}));
  EXPECT_EQ(run(f, vector({5, 7})).second, (std::vector<float>{6, 6}));
}

INSTANTIATE_TEST_SUITE_P(EagerAndTraced, ControlFlow, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "traced" : "eager"; });

}  // namespace
}  // namespace cohort
