#pragma once

#include <cstdint>
#include <vector>

namespace cohort::layers {

// A sketch of how values are distributed: values that stand for a weight of others, from which quantiles are read. It
// follows Keras's Discretization number by number.
class QuantileSummary {
 public:
  explicit QuantileSummary(double epsilon) : epsilon_(epsilon) {}
  // Counts values in.
  void add(std::vector<float> values);
  // Boundaries between `bins` parts of equal weight.
  std::vector<double> boundaries(std::int64_t bins) const;

 private:
  struct Point {
    float value, weight;
  };
  static std::vector<Point> compressed(const std::vector<Point>& points, double epsilon);

  double epsilon_;
  std::vector<Point> points_;  // ascending
};

}  // namespace cohort::layers
