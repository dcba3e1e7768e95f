#include <gtest/gtest.h>

#include "cohort/autodiff/control_flow.h"
#include "cohort/autodiff/tape.h"
#include "cohort/graph/function.h"
#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/reduce.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/variable.h"
#include "tests/support/vector.h"

// Reads and writes of variables happen in the order of the program, whatever the passes make of it.
namespace cohort {
namespace {

std::vector<float> values(const Tensor& tensor) { return tensor.to_vector<float>(); }

TEST(Effects, AFoldedUseOfAReadKeepsItsValue) {
  Variable v(vector({2}), {.name = "v"});
  Function f = function([&](Tensor x) {
    const Tensor y = v.value() * 1.0;
    v.assign_add(x);
    return y;
  });
  EXPECT_EQ(values(f(vector({1}))), (std::vector<float>{2}));
  EXPECT_EQ(values(v.value()), (std::vector<float>{3}));
}

TEST(Effects, ATransposeFoldedIntoAMatmulKeepsItsValue) {
  Variable v(Tensor::of<float>({1, 2, 3, 4}, {2, 2}), {.name = "v"});
  Function f = function([&](Tensor x) {
    const Tensor t = ops::transpose(v.value());
    v.assign(v.value() * 0.0);
    return ops::matmul(x, t);
  });
  EXPECT_EQ(values(f(Tensor::of<float>({1, 1}, {1, 2}))), (std::vector<float>{3, 7}));
}

TEST(Effects, ABiasFusedIntoAMatmulKeepsTheFactorsValue) {
  Variable v(Tensor::of<float>({1, 2, 3, 4}, {2, 2}), {.name = "v"});
  const Tensor bias = vector({10, 20});
  Function f = function([&](Tensor x) {
    const Tensor h = ops::matmul(x, v.value());
    v.assign(v.value() * 0.0);
    return h + bias;
  });
  EXPECT_EQ(values(f(Tensor::of<float>({1, 1}, {1, 2}))), (std::vector<float>{14, 26}));
}

TEST(Effects, AReadGivenToABranchThatWritesKeepsItsValue) {
  Variable v(vector({1}), {.name = "v"});
  Function f = function([&](Tensor p) {
    const Tensor before = v.value();
    return ops::cond(
        ops::greater(ops::sum(p), Tensor::scalar(0)),
        [&] {
          v.assign_add(vector({10}));
          return Tensors{before * 2.0};
        },
        [&] { return Tensors{before}; })[0];
  });
  EXPECT_EQ(values(f(vector({1}))), (std::vector<float>{2}));
  EXPECT_EQ(values(v.value()), (std::vector<float>{11}));
}

TEST(Effects, AScatterOfItsOwnVariableReadsBeforeItWrites) {
  Variable v(vector({1, 2}), {.name = "v"});
  Function f = function([&](Tensor indices) { v.scatter_add(indices, v.value()); });
  f(Tensor::of<std::int32_t>({1, 0}, {2}));
  EXPECT_EQ(values(v.value()), (std::vector<float>{3, 3}));
}

TEST(Effects, HappenOnceUnderATape) {
  Variable v(vector({1}), {.name = "v"});
  Function f = function([&](Tensor x) {
    const Tensor y = v.value() * x;
    v.assign_add(vector({1}));
    return y;
  });
  const Tensor x = vector({5});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  EXPECT_EQ(values(tape.gradient(ops::sum(y), x)), (std::vector<float>{1}));
  EXPECT_EQ(values(v.value()), (std::vector<float>{2}));
}

TEST(Effects, OfABranchAndABodyAreNotReplayedByTheGradient) {
  Variable count(vector({0}), {.name = "count"});
  Function f = function([&](Tensor x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = ops::scan(
                         [&](const Tensors& carry, const Tensors&) {
                           count.assign_add(vector({1}));
                           return Tensors{carry[0] * x};
                         },
                         {x}, {}, {.length = 3})
                         .carries[0];
    return tape.gradient(ops::sum(y), x);
  });
  EXPECT_EQ(values(f(vector({2}))), (std::vector<float>{32}));  // d x^4
  EXPECT_EQ(values(count.value()), (std::vector<float>{3}));
}

TEST(Effects, AFunctionUnderATapeDrawsAnewInEachCallAndTheSameInItsGradient) {
  Function f = function([](Tensor x) { return x * ops::random_uniform_like(x); });
  const Tensor x = vector({1, 1, 1, 1});
  std::vector<std::vector<float>> drawn;
  for (int i = 0; i < 2; ++i) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    drawn.push_back(values(y));
    EXPECT_EQ(values(tape.gradient(ops::sum(y), x)), drawn.back());
  }
  EXPECT_NE(drawn[0], drawn[1]);
}

TEST(Effects, UpdatesOfTwoTypesStayApart) {
  Variable a(vector({1}), {.name = "a"});
  Variable b(Tensor::of<double>({1}, {1}), {.name = "b", .dtype = float64});
  auto sgd = optimizers::SGD(0.25);
  sgd->build({a, b});
  Function f = function([&](Tensor x) { sgd->apply({x, run_op("Cast", {x}, {{"dtype", float64}})}, {a, b}); });
  f(vector({1}));
  EXPECT_EQ(values(a.value()), (std::vector<float>{0.75f}));
  EXPECT_EQ(values(b.value()), (std::vector<float>{0.75f}));
}

TEST(Effects, AnUpdateByAnotherVariablesValueUsesTheOldOne) {
  Variable a(vector({1}), {.name = "a"}), b(vector({2}), {.name = "b"});
  auto sgd = optimizers::SGD(1.0);
  sgd->build({a, b});
  Function f = function([&](Tensor x) {
    // d(a b) / da = b and the other way round: both gradients are bare reads.
    GradientTape tape;
    const Tensor product = ops::sum(a * b * x);
    sgd->apply(tape.gradient(product, std::vector<Variable>{a, b}), {a, b});
  });
  f(vector({1}));
  EXPECT_EQ(values(a.value()), (std::vector<float>{-1}));
  EXPECT_EQ(values(b.value()), (std::vector<float>{1}));
}

TEST(Effects, AVariablesShapeStaysWhereItIs) {
  Variable v(vector({1, 2, 3}), {.name = "v"});
  const Shape& shape = v.shape();
  const Tensor kept = v.value();
  v.assign(vector({4, 5, 6}));
  EXPECT_EQ(shape, (Shape{3}));
}

TEST(Effects, AnAssignmentOfAnotherSizeIsRefusedOnceShapesAreKnown) {
  Variable v(vector({1, 2}), {.name = "v"});
  Function f = function([&](Tensor x) { v.assign(x); }, {.input_signature = {{float32, {kUnknown}}}});
  f(vector({3, 4}));
  EXPECT_THROW(f(vector({1, 2, 3, 4})), Error);
  EXPECT_EQ(values(v.value()), (std::vector<float>{3, 4}));
  EXPECT_THROW(v.scatter_add(Tensor::of<std::int32_t>({0, 1}, {2}), vector({1})), Error);
}

}  // namespace
}  // namespace cohort
