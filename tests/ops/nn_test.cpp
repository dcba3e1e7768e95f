#include "cohort/ops/nn.h"

#include <cmath>
#include <limits>

#include "cohort/core/dispatch.h"
#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

Tensor wide_spread(const Shape& shape, unsigned seed = 1) { return spread_tensor(shape, -2, 2, float64, seed); }

std::vector<double> plain_softmax(const std::vector<double>& row) {
  double total = 0;
  for (double x : row) total += std::exp(x);
  std::vector<double> result;
  for (double x : row) result.push_back(std::exp(x) / total);
  return result;
}

COHORT_OP_REFERENCE(Softmax, any_axis, kFloats) {
  const std::vector<double> row = {0.5, -1, 2}, want = plain_softmax(row);
  expect_tensor(softmax(tensor_of(row, {1, 3}, dtype)), dtype, {1, 3}, want);
  expect_tensor(softmax(tensor_of(row, {3, 1}, dtype), 0), dtype, {3, 1}, want);
  expect_tensor(softmax(tensor_of({1000, 1000}, {2}, dtype)), dtype, {2}, {0.5, 0.5});
}
TEST(Softmax, long_rows) {
  const std::vector<double> row = spread_values(1003, -5, 5);
  expect_values(softmax(tensor_of(row, {1003}, float32)), plain_softmax(row), 1e-6);
}
COHORT_OP_GRADIENT(Softmax, both_axes) {
  check_gradient([](const Tensors& x) { return softmax(x[0]); }, {wide_spread({2, 3})});
  check_gradient([](const Tensors& x) { return softmax(x[0], 0); }, {wide_spread({3, 2})});
}
COHORT_OP_REFERENCE(LogSoftmax, any_axis, kFloats) {
  const std::vector<double> row = {0.5, -1, 2};
  std::vector<double> want;
  for (double p : plain_softmax(row)) want.push_back(std::log(p));
  expect_tensor(log_softmax(tensor_of(row, {1, 3}, dtype)), dtype, {1, 3}, want);
  expect_tensor(log_softmax(tensor_of(row, {3, 1}, dtype), 0), dtype, {3, 1}, want);
}
COHORT_OP_GRADIENT(LogSoftmax, last_axis) {
  check_gradient([](const Tensors& x) { return log_softmax(x[0]); }, {wide_spread({2, 3})});
}
TEST(Softmax, refuses_integers) {
  expect_error([] { softmax(tensor_of({1, 2}, {2}, int32)); }, {"Softmax:", "floating", "int32"});
}

COHORT_OP_REFERENCE(SoftmaxCrossEntropy, dense_labels, kFloats) {
  const std::vector<double> row = {0.5, -1, 2}, p = plain_softmax(row);
  const double want = -(0.25 * std::log(p[0]) + 0.75 * std::log(p[2]));
  expect_tensor(softmax_cross_entropy(tensor_of(row, {1, 3}, dtype), tensor_of({0.25, 0, 0.75}, {1, 3}, dtype)), dtype,
                {1}, {want});
}
COHORT_OP_GRADIENT(SoftmaxCrossEntropy, both_inputs) {
  check_gradient([](const Tensors& x) { return softmax_cross_entropy(x[0], x[1]); },
                 {wide_spread({2, 3}), spread_tensor({2, 3}, 0.1, 1)});
}
TEST(SoftmaxCrossEntropy, a_class_that_cannot_be_and_is_not) {
  const double inf = std::numeric_limits<double>::infinity();
  expect_values(softmax_cross_entropy(tensor_of({0, -inf}, {1, 2}), tensor_of({1, 0}, {1, 2})), {0}, 0);
}
COHORT_OP_REFERENCE(SoftmaxCrossEntropyGrad, probabilities_less_labels, kFloats) {
  const std::vector<double> row = {0.5, -1, 2}, p = plain_softmax(row);
  expect_tensor(run_op("SoftmaxCrossEntropyGrad", {tensor_of({2}, {1}, dtype), tensor_of(row, {1, 3}, dtype),
                                                   tensor_of({0.5, 0, 0.5}, {1, 3}, dtype)}),
                dtype, {1, 3}, {2 * (p[0] - 0.5), 2 * p[1], 2 * (p[2] - 0.5)});
}
TEST(SoftmaxCrossEntropyGrad, takes_labels_for_a_distribution_when_told) {
  const std::vector<double> row = {0.5, -1, 2}, p = plain_softmax(row);
  expect_tensor(
      run_op("SoftmaxCrossEntropyGrad",
             {tensor_of({2}, {1}, float32), tensor_of(row, {1, 3}, float32), tensor_of({1, 0, 1}, {1, 3}, float32)},
             {{"assume_distribution", true}}),
      float32, {1, 3}, {2 * (p[0] - 1), 2 * p[1], 2 * (p[2] - 1)});
  check_gradient(
      [](const Tensors& x) {
        return run_op("SoftmaxCrossEntropyGrad", x, {{"assume_distribution", true}});
      },
      {wide_spread({2}), wide_spread({2, 3}, 2), spread_tensor({2, 3}, 0.1, 1)});
}
COHORT_OP_GRADIENT(SoftmaxCrossEntropyGrad, all_inputs) {
  check_gradient([](const Tensors& x) { return run_op("SoftmaxCrossEntropyGrad", x); },
                 {wide_spread({2}), wide_spread({2, 3}, 2), spread_tensor({2, 3}, 0.1, 1)});
}

COHORT_OP_REFERENCE(SparseSoftmaxCrossEntropy, every_label_type, kFloats) {
  const std::vector<double> row = {0.5, -1, 2}, p = plain_softmax(row);
  for (DType label : kIntegers) {
    expect_tensor(sparse_softmax_cross_entropy(tensor_of(row, {1, 3}, dtype), tensor_of({1}, {1}, label)), dtype, {1},
                  {-std::log(p[1])});
  }
}
COHORT_OP_GRADIENT(SparseSoftmaxCrossEntropy, of_logits) {
  const Tensor labels = tensor_of({2, 0}, {2}, int32);
  check_gradient([=](const Tensors& x) { return sparse_softmax_cross_entropy(x[0], labels); }, {wide_spread({2, 3})});
}
TEST(SparseSoftmaxCrossEntropy, names_the_label_that_is_outside) {
  for (double label : {-1.0, 10.0}) {
    expect_error(
        [=] {
          sparse_softmax_cross_entropy(wide_spread({2, 10}), tensor_of({0, label}, {2}, int32));
        },
        {"SparseSoftmaxCrossEntropy: labels must lie in [0, 10)",
         "labels[1]=" + std::to_string(static_cast<int>(label))});
  }
  expect_error(
      [] {
        sparse_softmax_cross_entropy(wide_spread({2, 10}), tensor_of({0, 1, 2}, {3}, int32));
      },
      {"SparseSoftmaxCrossEntropy:", "labels.shape=(3,)"});
  expect_error(
      [] {
        sparse_softmax_cross_entropy(wide_spread({2, 10}), wide_spread({2}));
      },
      {"labels must be integers"});
}
COHORT_OP_REFERENCE(SparseSoftmaxCrossEntropyGrad, probabilities_less_one, kFloats) {
  const std::vector<double> p = plain_softmax({0.5, -1, 2});
  const DType wide = dtype == float64 ? float64 : float32;
  expect_tensor(run_op("SparseSoftmaxCrossEntropyGrad",
                       {tensor_of({2}, {1}, dtype), tensor_of(p, {1, 3}, wide), tensor_of({2}, {1}, int64)}),
                dtype, {1, 3}, {2 * p[0], 2 * p[1], 2 * (p[2] - 1)});
}
COHORT_OP_GRADIENT(SparseSoftmaxCrossEntropyGrad, of_floats) {
  const Tensor labels = tensor_of({2, 0}, {2}, int32);
  check_gradient(
      [=](const Tensors& x) {
        return run_op("SparseSoftmaxCrossEntropyGrad", {x[0], x[1], labels});
      },
      {wide_spread({2}), wide_spread({2, 3}, 2)});
}

TEST(SigmoidCrossEntropy, as_the_logarithms_say) {
  const Tensor logits = wide_spread({2, 3}), labels = spread_tensor({2, 3}, 0, 1);
  const Tensor p = sigmoid(logits);
  const Tensor want = -(labels * log(p)) - (1.0 - labels) * log(1.0 - p);
  expect_values(sigmoid_cross_entropy(logits, labels), want.to_vector<double>(), 1e-12);
  expect_values(sigmoid_cross_entropy(tensor_of({1000, -1000}, {2}), tensor_of({1, 1}, {2})), {0, 1000}, 1e-12);
  check_gradient([](const Tensors& x) { return sigmoid_cross_entropy(x[0], x[1]); }, {logits, labels});
}

}  // namespace
}  // namespace cohort::test
