#include <gtest/gtest.h>

#include "cohort/autodiff/control_flow.h"
#include "cohort/autodiff/tape.h"
#include "cohort/graph/function.h"
#include "cohort/ops/array.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "tests/support/vector.h"

namespace cohort {
namespace {

// Eagerly and traced, what cannot be is an Error and nothing else.
class ControlFlowErrors : public ::testing::TestWithParam<bool> {
 protected:
  void expect_error(const std::function<Tensors(const Tensors&)>& body, const Tensors& inputs) {
    EXPECT_THROW(GetParam() ? Tensors(function(body).call(inputs)) : body(inputs), Error);
  }
};

TEST_P(ControlFlowErrors, AConditionThatIsNoScalar) {
  expect_error(
      [](const Tensors& in) {
        return ops::while_loop([](const Tensors& v) { return ops::less(v[0], Tensor::scalar(3)); },
                               [](const Tensors& v) { return Tensors{v[0] + 1.0}; }, {in[0]});
      },
      {Tensor::full({4096}, 0.0)});
}

TEST_P(ControlFlowErrors, ABodyThatReturnsAnotherNumberOfTensors) {
  expect_error(
      [](const Tensors& in) {
        return ops::while_loop([](const Tensors& v) { return ops::less(ops::sum(v[0]), Tensor::scalar(3)); },
                               [&](const Tensors& v) {
                                 return Tensors{v[0] + in[1], in[1]};
                               },
                               {in[0]});
      },
      {vector({0}), vector({1})});
}

TEST_P(ControlFlowErrors, SequencesOfDifferentLengths) {
  expect_error(
      [](const Tensors& in) {
        return ops::scan([](const Tensors& c, const Tensors& s) { return Tensors{c[0] + s[0] + s[1]}; },
                         {Tensor::scalar(0)}, {in[0], in[1]})
            .carries;
      },
      {Tensor::full({200000}, 1.0), vector({1, 2, 3})});
}

TEST_P(ControlFlowErrors, ATurnThatForgetsACarry) {
  expect_error(
      [](const Tensors& in) {
        return ops::scan([](const Tensors&, const Tensors&) { return Tensors{}; }, {Tensor::scalar(0)}, {in[0]})
            .carries;
      },
      {vector({1, 2, 3})});
}

INSTANTIATE_TEST_SUITE_P(EagerAndTraced, ControlFlowErrors, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "traced" : "eager"; });

TEST(ControlFlow, BranchesMayReturnDifferentShapes) {
  Function f = function([](Tensor x) {
    return ops::cond(
        ops::greater(ops::sum(x), Tensor::scalar(0)), [&] { return Tensors{x}; },
        [&] { return Tensors{ops::reshape(ops::sum(x), {1})}; })[0];
  });
  EXPECT_EQ(Tensor(f(vector({1, 2}))).to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(Tensor(f(vector({-1, -2}))).to_vector<float>(), (std::vector<float>{-3}));
}

TEST(GradientTape, APersistentTapeGoesOnAfterAFailedGradient) {
  const Tensor x = vector({2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  EXPECT_THROW(tape.gradient(run_op("Cast", {x}, {{"dtype", int32}}), x), Error);
  EXPECT_EQ(tape.gradient(x * x, x).item<float>(), 4);
}

}  // namespace
}  // namespace cohort
