#include <algorithm>
#include <cmath>
#include <numeric>

#include "cohort/variables/initializer.h"
#include "tests/golden/checks.h"

namespace cohort::golden {
namespace {

// A sample of n values may stray this many standard errors: a right initializer fails once in a billion runs.
constexpr double kStrayed = 6.0;

void check_moments(Case& checked, const std::vector<double>& values, const Json& expect,
                   const std::string& distribution) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0.0, widest = 0.0;
  const double center = expect.at("mean"), std_expected = expect.at("std");
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
    widest = std::max(widest, std::abs(value - center));
  }
  const double deviation = std::sqrt(squares / n);
  checked.require(std::abs(mean - center) < kStrayed * std_expected / std::sqrt(n), "mean: " + std::to_string(mean));
  checked.require(std::abs(deviation / std_expected - 1.0) < kStrayed / std::sqrt(n),
                  "std: " + std::to_string(deviation) + ", expected " + std::to_string(std_expected));
  if (expect.contains("limit")) {
    const double limit = expect.at("limit");
    checked.require(widest <= limit * (1.0 + 1e-5), "a value lies " + std::to_string(widest) + " from the mean");
    checked.require(widest > 0.7 * limit || n < 100, "no value comes near the limit");
  } else {
    checked.require(distribution != "normal" || widest > 2.0 * std_expected || n < 100, "no tails");
  }
  // Where the mass lies tells apart distributions of equal deviation: 58 % of a uniform are within one, 68 % of a
  // normal.
  const auto within = static_cast<double>(
      std::count_if(values.begin(), values.end(), [&](double v) { return std::abs(v - center) < std_expected; }));
  const double share = distribution == "uniform" ? 1.0 / std::sqrt(3.0) : distribution == "normal" ? 0.6827 : 0.6505;
  checked.require(std::abs(within / n - share) < kStrayed * 0.5 / std::sqrt(n),
                  "share within one standard deviation: " + std::to_string(within / n));
}

void check_orthogonal(Case& checked, const std::vector<double>& values, const Json& expect) {
  const std::size_t rows = expect.at("rows"), columns = expect.at("cols");
  const double gain = expect.at("gain");
  const bool by_columns = expect.at("identity") == "WtW";
  const std::size_t size = by_columns ? columns : rows, length = by_columns ? rows : columns;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      double dot = 0.0;
      for (std::size_t k = 0; k < length; ++k) {
        dot += by_columns ? values[k * columns + i] * values[k * columns + j]
                          : values[i * columns + k] * values[j * columns + k];
      }
      if (std::abs(dot - (i == j ? gain * gain : 0.0)) > 1e-4) {
        return checked.fail("vectors " + std::to_string(i) + " and " + std::to_string(j) + ": product " +
                            std::to_string(dot));
      }
    }
  }
}

}  // namespace

void check_initializer(Case& checked) {
  const auto initializer = make_object<Initializer>(checked);
  const Shape shape(checked.json("shape").get<std::vector<std::int64_t>>());
  const Tensor value = (*initializer)(shape, DType::Float32);
  if (checked.has("value")) return checked.expect("value", value);
  checked.require(value.shape() == shape && value.dtype() == DType::Float32, "shape or type");
  const std::string distribution = checked.text("distribution");
  const std::vector<double> values = value.to_vector<double>();
  if (distribution == "orthogonal") {
    check_orthogonal(checked, values, checked.json("expect"));
  } else {
    check_moments(checked, values, checked.json("expect"), distribution);
  }
}

}  // namespace cohort::golden
