#include <cmath>
#include <numeric>

#include "cohort/model/layer/layer.h"
#include "tests/golden/checks.h"

namespace cohort::golden {
namespace {

// Whether the values repeat along an axis.
bool is_constant_along(const std::vector<double>& values, const Shape& shape, int axis) {
  const auto strides = row_major_strides(shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t place = (static_cast<std::int64_t>(i) / strides[axis]) % shape[axis];
    if (values[i] != values[i - static_cast<std::size_t>(place * strides[axis])]) return false;
  }
  return true;
}

}  // namespace

void check_statistics(Case& checked) {
  const auto layer = make_object<Layer>(checked);
  const Shape shape(checked.json("input_shape").get<std::vector<std::int64_t>>());
  const double fill = checked.file().double_attribute(checked.name(), "input_fill");
  const Json expect = checked.json("statistics");
  const Tensor output = layer->apply(Element(Tensor::full(shape, fill)), CallContext{.training = true}).flatten().at(0);
  if (output.shape() != shape) return checked.fail("outputs: shape " + output.shape().to_string());

  const std::vector<double> values = output.to_vector<double>();
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0.0, zeros = 0.0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
    zeros += value == 0.0 ? 1.0 : 0.0;
  }
  const double deviation = std::sqrt(squares / n);
  const double slack = 6.0 * std::max(deviation, 1e-3) / std::sqrt(expect.at("independent").get<double>());
  const std::pair<const char*, double> seen[] = {{"mean", mean}, {"std", deviation}, {"zero_fraction", zeros / n}};
  for (const auto& [name, value] : seen) {
    if (!expect.contains(name)) continue;
    const double expected = expect.at(name);
    checked.require(std::abs(value - expected) < slack + 1e-3 * std::abs(expected),
                    std::string(name) + ": " + std::to_string(value) + ", expected " + std::to_string(expected));
  }
  if (expect.contains("kept_value")) {
    const double kept = expect.at("kept_value");
    for (const double value : values) {
      if (value != 0.0 && std::abs(value - kept) > 1e-5 * std::abs(kept)) {
        checked.fail("kept_value: " + std::to_string(value) + ", expected " + std::to_string(kept));
        break;
      }
    }
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool constant = is_constant_along(values, shape, axis);
    bool expected = shape[axis] == 1;
    if (expect.contains("constant_axes")) {
      for (const Json& each : expect["constant_axes"]) expected = expected || each.get<int>() == axis;
    }
    checked.require(constant == expected,
                    "axis " + std::to_string(axis) + (constant ? " repeats" : " does not repeat"));
  }
}

}  // namespace cohort::golden
