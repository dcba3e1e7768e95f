#include "tests/support/op_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>

#include "cohort/autodiff/tape.h"
#include "cohort/graph/function.h"

namespace cohort::test {
namespace {

std::map<std::string, OpCoverage>& coverage() {
  static std::map<std::string, OpCoverage> all;
  return all;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The gradients of `function` where `weights` flows in; undefined ones stay undefined.
Tensors tape_gradients(const TensorFunction& function, const Tensors& inputs, const Tensor& weights) {
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  const Tensor y = function(inputs);
  const Gradients gradients = tape.gradients({y}, inputs, {weights});
  Tensors tensors;
  for (const Gradient& gradient : gradients) tensors.push_back(gradient.defined() ? gradient.dense() : Tensor());
  return tensors;
}

std::vector<double> numeric_gradient(const TensorFunction& function, const Tensors& inputs, std::size_t which,
                                     const std::vector<double>& weights, double step) {
  const std::vector<double> values = inputs[which].to_vector<double>();
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value_at = [&](double distance) {
      std::vector<double> moved = values;
      moved[i] += distance;
      Tensors arguments = inputs;
      arguments[which] = tensor_of(moved, inputs[which].shape());
      return dot(function(arguments).to_vector<double>(), weights);
    };
    result.push_back((value_at(step) - value_at(-step)) / (2 * step));
  }
  return result;
}

void check_first_order(const TensorFunction& function, const Tensors& inputs, const GradientCheckOptions& options) {
  const Tensor y = function(inputs);
  const Tensor weights = spread_tensor(y.shape(), -1, 1, float64, 77);
  const Tensors gradients = tape_gradients(function, inputs, weights);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SCOPED_TRACE("input " + std::to_string(i));
    const auto numeric = numeric_gradient(function, inputs, i, weights.to_vector<double>(), options.step);
    if (gradients[i].defined()) {
      EXPECT_EQ(gradients[i].shape(), inputs[i].shape());
      expect_values(gradients[i], numeric, options.tolerance);
    } else {
      for (double each : numeric) EXPECT_NEAR(each, 0, options.tolerance) << "no gradient flows, but one is needed";
    }
  }
}

Specs with_unknown_batch(const Tensors& tensors) {
  Specs specs;
  for (const Tensor& tensor : tensors) {
    specs.push_back(tensor.spec());
    if (tensor.rank() > 0) specs.back().shape[0] = kUnknown;
  }
  return specs;
}

}  // namespace

Tensor tensor_of(const std::vector<double>& values, const Shape& shape, DType dtype) {
  return visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto typed = std::make_unique<T[]>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) typed[i] = static_cast<T>(values[i]);
    return Tensor::of(std::span<const T>(typed.get(), values.size()), shape);
  });
}

std::vector<double> spread_values(std::int64_t count, double low, double high, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = low + (high - low) * (static_cast<double>(engine() >> 8) / (1 << 24));
  return values;
}

Tensor spread_tensor(const Shape& shape, double low, double high, DType dtype, unsigned seed) {
  return tensor_of(spread_values(shape.num_elements(), low, high, seed), shape, dtype);
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return 2e-3;
    case DType::BFloat16:
      return 1.6e-2;
    case DType::Float32:
      return 1e-6;
    case DType::Float64:
      return 1e-13;
    default:
      return 0;
  }
}

void expect_values(const Tensor& got, const std::vector<double>& want, double tolerance) {
  const std::vector<double> values = got.to_vector<double>();
  ASSERT_EQ(values.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i]) || std::isinf(want[i])) {
      EXPECT_TRUE(std::isnan(want[i]) ? std::isnan(values[i]) : values[i] == want[i])
          << "element " << i << ": got " << values[i] << ", want " << want[i];
    } else {
      EXPECT_NEAR(values[i], want[i], tolerance * std::max(1.0, std::abs(want[i]))) << "element " << i;
    }
  }
}

void expect_tensor(const Tensor& got, DType dtype, const Shape& shape, const std::vector<double>& want) {
  EXPECT_EQ(got.dtype(), dtype);
  EXPECT_EQ(got.shape(), shape);
  expect_values(got, want, tolerance(dtype));
}

void check_gradient(const TensorFunction& function, const Tensors& inputs, const GradientCheckOptions& options) {
  {
    SCOPED_TRACE("first order");
    check_first_order(function, inputs, options);
  }
  const Tensor weights = spread_tensor(function(inputs).shape(), -1, 1, float64, 77);
  if (options.second_order) {
    const Tensors gradients = tape_gradients(function, inputs, weights);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!gradients[i].defined()) continue;
      SCOPED_TRACE("second order, through the gradient of input " + std::to_string(i));
      check_first_order([&](const Tensors& x) { return tape_gradients(function, x, weights)[i]; }, inputs, options);
    }
  }
  if (options.unknown_batch) {
    SCOPED_TRACE("in a trace");
    check_traced(function, inputs);
    const Tensors eager = tape_gradients(function, inputs, weights);
    Tensors arguments = inputs;
    arguments.push_back(weights);
    const Function traced = cohort::function(
        [&](const Tensors& symbols) {
          Tensors defined;
          for (const Tensor& each :
               tape_gradients(function, Tensors(symbols.begin(), symbols.end() - 1), symbols.back())) {
            if (each.defined()) defined.push_back(each);
          }
          return defined;
        },
        {.input_signature = with_unknown_batch(arguments)});
    const Tensors results = traced.call(arguments);
    std::size_t next = 0;
    for (const Tensor& each : eager) {
      if (!each.defined()) continue;
      ASSERT_LT(next, results.size());
      EXPECT_EQ(results[next].shape(), each.shape());
      expect_values(results[next++], each.to_vector<double>(), 1e-12);
    }
  }
}

void check_traced(const TensorFunction& function, const Tensors& inputs) {
  const Tensor eager = function(inputs);
  const Function traced = cohort::function([&](const Tensors& symbols) { return Tensors{function(symbols)}; },
                                           {.input_signature = with_unknown_batch(inputs)});
  const Tensor result = traced.call(inputs);
  EXPECT_EQ(result.dtype(), eager.dtype());
  EXPECT_EQ(result.shape(), eager.shape());
  expect_values(result, eager.to_vector<double>(), 1e-12);
}

void expect_error(const std::function<void()>& action, const std::vector<std::string>& parts) {
  try {
    action();
  } catch (const Error& error) {
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "'" << part << "' is not in: " << error.what();
    }
    return;
  }
  ADD_FAILURE() << "an error is expected" << (parts.empty() ? "" : " that says: " + parts[0]);
}

bool register_reference(const std::string& op, const std::vector<DType>& dtypes) {
  auto& types = coverage()[op].reference_types;
  types.insert(types.end(), dtypes.begin(), dtypes.end());
  return true;
}

bool register_gradient(const std::string& op) { return coverage()[op].gradient = true; }

OpCoverage coverage_of(const std::string& op) {
  const auto found = coverage().find(op);
  return found == coverage().end() ? OpCoverage{} : found->second;
}

}  // namespace cohort::test
