#include "cohort/layers/preprocessing/quantile_summary.h"

#include <algorithm>
#include <cmath>

namespace cohort::layers {
namespace {

// The line through (x, y) points at `at`, flat beyond its ends.
double interpolate(double at, const std::vector<double>& x, const std::vector<double>& y) {
  if (at <= x.front()) return at < x.front() || x.size() == 1 ? y.front() : y.front();
  if (at >= x.back()) return y.back();
  const auto above = static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), at) - x.begin());
  const std::size_t below = above - 1;
  return y[below] + (y[above] - y[below]) / (x[above] - x[below]) * (at - x[below]);
}

}  // namespace

void QuantileSummary::add(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  const double step = std::max(static_cast<double>(values.size()) / (1.0 / epsilon_), 1.0);
  const auto stride = static_cast<std::size_t>(step);
  std::vector<Point> points;
  for (auto i = static_cast<std::size_t>(step - 1.0); i < values.size(); i += stride) {
    points.push_back({values[i], static_cast<float>(step)});
  }
  points.insert(points.end(), points_.begin(), points_.end());
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.value < b.value; });
  points_ = compressed(points, epsilon_);
}

std::vector<QuantileSummary::Point> QuantileSummary::compressed(const std::vector<Point>& points, double epsilon) {
  if (static_cast<double>(points.size()) * epsilon < 1.0) return points;
  std::vector<double> weights, shares, values;
  float sum = 0;
  for (const Point& point : points) {
    sum += point.weight;
    weights.push_back(sum);
    values.push_back(point.value);
  }
  for (double weight : weights) shares.push_back(static_cast<float>(weight) / sum);
  std::vector<Point> kept;
  double before = 0;
  const auto count = static_cast<std::int64_t>(std::ceil(1.0 / epsilon));
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = epsilon + static_cast<double>(i) * epsilon;
    const double weight = interpolate(share, shares, weights);
    kept.push_back({static_cast<float>(interpolate(share, shares, values)), static_cast<float>(weight - before)});
    before = weight;
  }
  return kept;
}

std::vector<double> QuantileSummary::boundaries(std::int64_t bins) const {
  std::vector<double> result;
  for (const Point& point : compressed(points_, 1.0 / static_cast<double>(bins))) result.push_back(point.value);
  if (!result.empty()) result.pop_back();
  return result;
}

}  // namespace cohort::layers
