#include <algorithm>
#include <cmath>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/summary/event_writer.h"

namespace cohort::summary {

Tensor histogram(const Tensor& values, int buckets) {
  if (buckets < 1) throw invalid_argument("histogram", "at least one bucket is expected", {{"buckets", buckets}});
  std::vector<double> finite = values.to_vector<double>();
  // TensorBoard cannot draw an edge at infinity; values that are not finite are left out rather than lose the rest.
  std::erase_if(finite, [](double value) { return !std::isfinite(value); });
  const auto count = static_cast<std::size_t>(buckets);
  std::vector<double> rows(count * 3, 0.0);
  if (!finite.empty()) {
    const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
    const double minimum = *low, range = *high - *low, width = range / buckets;
    for (std::size_t i = 0; i < count; ++i) {
      rows[3 * i] = minimum + range * static_cast<double>(i) / buckets;
      rows[3 * i + 1] = minimum + range * static_cast<double>(i + 1) / buckets;
    }
    for (const double value : finite) {
      // All values equal: every bucket is empty but the last, as TensorBoard's own summaries have it.
      const double place = width > 0 ? std::floor((value - minimum) / width) : buckets - 1;
      rows[3 * static_cast<std::size_t>(std::min(place, buckets - 1.0)) + 2] += 1.0;
    }
  }
  return Tensor::of(rows, {buckets, 3}, cpu());
}

}  // namespace cohort::summary
