#include "cohort/ops/nn.h"

#include <cmath>
#include <limits>

#include "cohort/core/dispatch.h"
#include "cohort/core/mixed_types.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
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

DType wide_as_float32(DType dtype) { return dtype == float64 ? float64 : float32; }
Tensors rows_loss(const Tensor& logits, const Tensor& labels, const Attributes& attributes = {}) {
  return run_op_all("SparseSoftmaxCrossEntropyRows", {logits, labels}, attributes);
}

COHORT_OP_REFERENCE(SparseSoftmaxCrossEntropyRows, loss_and_logsumexp, kFloats) {
  const std::vector<double> row = {0.5, -1, 2}, p = plain_softmax(row);
  for (DType label : kIntegers) {
    const Tensors got = rows_loss(tensor_of(row, {1, 3}, dtype), tensor_of({1}, {1}, label));
    expect_tensor(got.at(0), dtype, {1}, {-std::log(p[1])});
    expect_tensor(got.at(1), wide_as_float32(dtype), {1}, {0.5 - std::log(p[0])});
  }
}
COHORT_OP_GRADIENT(SparseSoftmaxCrossEntropyRows, of_both_outputs) {
  const Tensor labels = tensor_of({2, 0}, {2}, int32);
  for (std::size_t output : {0u, 1u}) {
    check_gradient([=](const Tensors& x) { return rows_loss(x[0], labels).at(output); }, {wide_spread({2, 3})});
  }
  check_gradient(
      [=](const Tensors& x) {
        const Tensors both = rows_loss(x[0], labels);
        return both[0] * both[1];
      },
      {wide_spread({2, 3})});
}
COHORT_OP_REFERENCE(SparseSoftmaxCrossEntropyRowsGrad, probabilities_less_one, kFloats) {
  const std::vector<double> row = {0.5, -1, 2}, p = plain_softmax(row);
  const Tensor logsumexp = tensor_of({0.5 - std::log(p[0])}, {1}, wide_as_float32(dtype));
  for (DType label : kIntegers) {
    expect_tensor(
        run_op("SparseSoftmaxCrossEntropyRowsGrad",
               {tensor_of({2}, {1}, dtype), tensor_of(row, {1, 3}, dtype), tensor_of({2}, {1}, label), logsumexp}),
        dtype, {1, 3}, {2 * p[0], 2 * p[1], 2 * (p[2] - 1)});
  }
}
COHORT_OP_GRADIENT(SparseSoftmaxCrossEntropyRowsGrad, of_floats) {
  const Tensor labels = tensor_of({2, 0}, {2}, int32);
  check_gradient(
      [=](const Tensors& x) {
        return run_op("SparseSoftmaxCrossEntropyRowsGrad", {x[0], x[1], labels, x[2]});
      },
      {wide_spread({2}), wide_spread({2, 3}, 2), spread_tensor({2}, 1, 3)});
}
// From rows that a few threads share to rows that a block walks over several times, of even and odd widths.
TEST(SparseSoftmaxCrossEntropyRows, rows_of_every_width) {
  for (std::int64_t width : {1, 2, 8, 13, 56, 257, 264, 1000, 4104, 9001, 20480}) {
    for (DType stored : {float32, bfloat16, float16}) {
      SCOPED_TRACE(std::string(to_string(stored)) + " " + std::to_string(width));
      const Attributes types = {{kComputeType, float32}, {kResultType, stored}};
      const std::int64_t count = 5;
      const Tensor logits = spread_tensor({count, width}, -6, 6, stored, 3);
      const std::vector<double> values = cast(logits, float64).to_vector<double>();
      std::vector<double> labels, losses, logsumexps, dlosses, flows;
      for (std::int64_t r = 0; r < count; ++r) {
        const std::vector<double> row(values.begin() + r * width, values.begin() + (r + 1) * width);
        const std::int64_t label = width * r / count;
        double sum = 0;
        for (double x : row) sum += std::exp(x);
        labels.push_back(static_cast<double>(label));
        logsumexps.push_back(std::log(sum));
        losses.push_back(std::log(sum) - row[static_cast<std::size_t>(label)]);
        dlosses.push_back(0.25 * static_cast<double>(r + 1));
        for (std::int64_t j = 0; j < width; ++j) {
          flows.push_back(dlosses.back() * (std::exp(row[static_cast<std::size_t>(j)]) / sum - (j == label ? 1 : 0)));
        }
      }
      const Tensor wanted = tensor_of(labels, {count}, int32);
      const Tensors got = rows_loss(logits, wanted, {{kComputeType, float32}});
      expect_tensor(got.at(0), float32, {count}, losses);
      expect_tensor(got.at(1), float32, {count}, logsumexps);
      expect_tensor(run_op("SparseSoftmaxCrossEntropyRowsGrad",
                           {tensor_of(dlosses, {count}, float32), logits, wanted, got.at(1)}, types),
                    stored, {count, width}, flows);
    }
  }
}
TEST(SparseSoftmaxCrossEntropyRows, classes_that_cannot_be) {
  const double inf = std::numeric_limits<double>::infinity();
  for (std::int64_t width : {2, 40000}) {
    std::vector<double> row(static_cast<std::size_t>(width), -inf);
    row.back() = 3;
    const Tensor logits = tensor_of(row, {1, width}, float32), last = tensor_of({width - 1.0}, {1}, int32);
    const Tensors got = rows_loss(logits, last);
    expect_values(got.at(0), {0}, 0);
    expect_values(got.at(1), {3}, 0);
    expect_values(run_op("SparseSoftmaxCrossEntropyRowsGrad", {tensor_of({1}, {1}, float32), logits, last, got.at(1)}),
                  std::vector<double>(row.size(), 0), 0);
    expect_values(rows_loss(logits, tensor_of({0}, {1}, int32)).at(0), {inf}, 0);
  }
  const Tensor far = tensor_of({1000, 1000}, {1, 2}, float32);
  expect_values(rows_loss(far, tensor_of({1}, {1}, int32)).at(0), {std::log(2.0)}, 1e-6);
}
TEST(SparseSoftmaxCrossEntropyRows, numbers_that_are_none_stay_so) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor logits = tensor_of({0, nan, 1, inf, -inf, -inf, 0, 1}, {4, 2}, float32);
  const std::vector<float> losses = rows_loss(logits, tensor_of({0, 0, 0, 0}, {4}, int32)).at(0).to_vector<float>();
  for (int r : {0, 1, 2}) EXPECT_TRUE(std::isnan(losses.at(static_cast<std::size_t>(r)))) << r;
  EXPECT_FALSE(std::isnan(losses.at(3)));
}
TEST(SparseSoftmaxCrossEntropyRows, names_the_label_that_is_outside) {
  const Tensor logits = wide_spread({2, 10}), numbers = wide_spread({2});
  for (double label : {-1.0, 10.0}) {
    const Tensor labels = tensor_of({0, label}, {2}, int32);
    const std::vector<std::string> parts = {"SparseSoftmaxCrossEntropy: labels must lie in [0, 10)",
                                            "labels[1]=" + std::to_string(static_cast<int>(label))};
    expect_error([&] { rows_loss(logits, labels); }, parts);
    expect_error([&] { run_op("SparseSoftmaxCrossEntropyRowsGrad", {numbers, logits, labels, numbers}); }, parts);
  }
}
TEST(SparseSoftmaxCrossEntropyRowsGrad, refuses_other_types_and_shapes) {
  const Tensor logits = wide_spread({2, 10}), rows = wide_spread({2}), labels = tensor_of({0, 1}, {2}, int32);
  const auto refused = [&](const Tensors& inputs, const std::vector<std::string>& parts, const Attributes& types = {}) {
    expect_error([&] { run_op("SparseSoftmaxCrossEntropyRowsGrad", inputs, types); }, parts);
  };
  refused({cast(rows, float32), logits, labels, rows}, {"dloss must have", "float32"});
  refused({wide_spread({3}), logits, labels, rows}, {"dloss must have", "(3,)"});
  refused({rows, logits, labels, cast(rows, float32)}, {"logsumexp must have", "float32"});
  refused({rows, logits, labels, wide_spread({3})}, {"logsumexp must have", "(3,)"});
  refused({rows, logits, rows, rows}, {"labels must be integers"});
  refused({rows, logits, labels, rows}, {"logits must be floating"}, {{kComputeType, float32}});
  refused({rows, logits, labels, rows}, {"the result must have a floating type"}, {{kResultType, bfloat16}});
}

Tensors sparse_both(const Tensor& dloss, const Tensor& logits, const Tensor& labels, const Attributes& types = {}) {
  return run_op_all("SparseSoftmaxCrossEntropyAndGrad", {dloss, logits, labels}, types);
}
Tensors dense_both(const Tensor& dloss, const Tensor& logits, const Tensor& labels, const Attributes& types = {}) {
  return run_op_all("SoftmaxCrossEntropyAndGrad", {dloss, logits, labels}, types);
}

COHORT_OP_REFERENCE(SparseSoftmaxCrossEntropyAndGrad, probabilities_less_one_and_loss, kFloats) {
  const std::vector<double> row = {0.5, -1, 2}, p = plain_softmax(row);
  for (DType label : kIntegers) {
    const Tensors got =
        sparse_both(tensor_of({2}, {1}, dtype), tensor_of(row, {1, 3}, dtype), tensor_of({2}, {1}, label));
    expect_tensor(got.at(0), dtype, {1, 3}, {2 * p[0], 2 * p[1], 2 * (p[2] - 1)});
    expect_tensor(got.at(1), dtype, {1}, {-std::log(p[2])});
  }
}
COHORT_OP_REFERENCE(SoftmaxCrossEntropyAndGrad, probabilities_less_labels_and_loss, kFloats) {
  const std::vector<double> row = {0.5, -1, 2}, p = plain_softmax(row), labels = {0.25, 0, 0.5};
  const double loss = -0.25 * std::log(p[0]) - 0.5 * std::log(p[2]);
  for (const bool distribution : {false, true}) {
    const Tensors got = dense_both(tensor_of({2}, {1}, dtype), tensor_of(row, {1, 3}, dtype),
                                   tensor_of(labels, {1, 3}, dtype), {{"assume_distribution", distribution}});
    const double mass = distribution ? 1 : 0.75;
    expect_tensor(got.at(0), dtype, {1, 3}, {2 * (p[0] * mass - 0.25), 2 * p[1] * mass, 2 * (p[2] * mass - 0.5)});
    expect_tensor(got.at(1), dtype, {1}, {loss});
  }
}
// What the two ops give that it stands for: of rows that a few threads share, that a warp or a block holds, and that a
// block walks over several times.
TEST(SparseSoftmaxCrossEntropyAndGrad, rows_of_every_width) {
  for (std::int64_t width : {1, 2, 8, 13, 56, 257, 264, 520, 1000, 1032, 4104, 9001, 20480, 50304, 60000}) {
    for (DType stored : {float32, bfloat16, float16}) {
      SCOPED_TRACE(std::string(to_string(stored)) + " " + std::to_string(width));
      const Attributes types = {{kComputeType, float32}, {kResultType, stored}};
      const std::int64_t count = 5;
      const Tensor logits = spread_tensor({count, width}, -6, 6, stored, 3);
      const Tensor dlosses = tensor_of({0.25, 0.5, 0.75, 1, 1.25}, {count}, float32);
      std::vector<double> places;
      for (std::int64_t r = 0; r < count; ++r) places.push_back(static_cast<double>(width * r / count));
      const Tensor labels = tensor_of(places, {count}, int32);
      const Tensors loss = rows_loss(logits, labels, {{kComputeType, float32}});
      const Tensor flow = run_op("SparseSoftmaxCrossEntropyRowsGrad", {dlosses, logits, labels, loss.at(1)}, types);
      const Tensors both = sparse_both(dlosses, logits, labels, types);
      EXPECT_EQ(both.at(0).spec(), flow.spec());
      // Of about the size of one.
      const auto scaled = [&](const Tensor& x) { return cast(x, float64) * static_cast<double>(width); };
      expect_values(scaled(both[0]), scaled(flow).to_vector<double>(), 4 * tolerance(stored));
      expect_tensor(both.at(1), float32, {count}, cast(loss[0], float64).to_vector<double>());
    }
  }
}
TEST(SoftmaxCrossEntropyAndGrad, rows_of_every_width) {
  for (std::int64_t width : {1, 4, 13, 264, 1000, 9001, 20480}) {
    for (DType stored : {float32, bfloat16}) {
      SCOPED_TRACE(std::string(to_string(stored)) + " " + std::to_string(width));
      const Attributes types = {{kComputeType, float32}, {kResultType, stored}};
      const Tensor logits = spread_tensor({3, width}, -6, 6, stored, 3);
      const Tensor labels = softmax(spread_tensor({3, width}, -2, 2, float32, 4)) * 0.75;
      const Tensor dlosses = tensor_of({0.25, 0.5, 2}, {3}, float32);
      const std::vector<float> loss =
          run_op("SoftmaxCrossEntropy", {logits, labels}, {{kComputeType, float32}}).to_vector<float>();
      const Tensor flow = run_op("SoftmaxCrossEntropyGrad", {dlosses, logits, labels}, types);
      const Tensors both = dense_both(dlosses, logits, labels, types);
      expect_tensor(both.at(0), stored, flow.shape(), cast(flow, float64).to_vector<double>());
      expect_tensor(both.at(1), float32, {3}, std::vector<double>(loss.begin(), loss.end()));
    }
  }
}
TEST(SparseSoftmaxCrossEntropyAndGrad, classes_that_cannot_be) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor one = tensor_of({1}, {1}, float32);
  for (std::int64_t width : {2, 40000}) {
    std::vector<double> row(static_cast<std::size_t>(width), -inf);
    row.back() = 3;
    const Tensor logits = tensor_of(row, {1, width}, float32);
    const Tensors likely = sparse_both(one, logits, tensor_of({width - 1.0}, {1}, int32));
    expect_values(likely.at(0), std::vector<double>(row.size(), 0), 0);
    expect_values(likely.at(1), {0}, 0);
    expect_values(sparse_both(one, logits, tensor_of({0}, {1}, int32)).at(1), {inf}, 0);
    // A label of zero where nothing can be.
    std::vector<double> last(row.size());
    last.back() = 1;
    const Tensors dense = dense_both(one, logits, tensor_of(last, {1, width}, float32));
    expect_values(dense.at(0), std::vector<double>(row.size(), 0), 0);
    expect_values(dense.at(1), {0}, 0);
  }
}
TEST(SparseSoftmaxCrossEntropyAndGrad, refuses_what_does_not_fit) {
  const Tensor logits = wide_spread({2, 10}), rows = wide_spread({2}), labels = tensor_of({0, 1}, {2}, int32);
  expect_error(
      [&] {
        sparse_both(rows, logits, tensor_of({0, 10}, {2}, int32));
      },
      {"SparseSoftmaxCrossEntropy: labels must lie in [0, 10)", "labels[1]=10"});
  expect_error([&] { sparse_both(cast(rows, float32), logits, labels); }, {"dloss must have", "float32"});
  expect_error([&] { sparse_both(wide_spread({3}), logits, labels); }, {"dloss must have", "(3,)"});
  expect_error([&] { dense_both(wide_spread({3}), logits, logits); }, {"dloss must have", "(3,)"});
  expect_error([&] { sparse_both(rows, logits, rows); }, {"labels must be integers"});
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
