#include "cohort/variables/initializers/stft.h"

#include <cmath>
#include <map>
#include <numbers>
#include <vector>

#include "cohort/variables/initializers/host_values.h"

namespace cohort::initializers {
namespace {

constexpr double kPi = std::numbers::pi;

// Windows that are sums of cosines: factors of cos(0), -cos(1x), cos(2x), ... by SciPy's names.
const std::map<std::string, std::vector<double>, std::less<>>& cosine_windows() {
  static const std::map<std::string, std::vector<double>, std::less<>> windows = {
      {"boxcar", {1.0}},
      {"hann", {0.5, 0.5}},
      {"hamming", {0.54, 0.46}},
      {"blackman", {0.42, 0.5, 0.08}},
      {"nuttall", {0.3635819, 0.4891775, 0.1365995, 0.0106411}},
      {"blackmanharris", {0.35875, 0.48829, 0.14128, 0.01168}},
      {"flattop", {0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368}},
  };
  return windows;
}

bool is_window(const std::string& name) {
  return name == "bartlett" || name == "cosine" || name == "triang" || cosine_windows().contains(name);
}

// A periodic window is a symmetric one that is a sample longer, without its last.
std::vector<double> window_values(const std::string& name, std::int64_t length, bool periodic) {
  if (length == 1) return {1.0};
  const std::int64_t full = length + (periodic ? 1 : 0);
  const auto last = static_cast<double>(full - 1), count = static_cast<double>(full);
  std::vector<double> values;
  for (std::int64_t i = 0; i < length; ++i) {
    const auto at = static_cast<double>(i);
    if (name == "bartlett") {
      values.push_back(at <= last / 2 ? 2 * at / last : 2 - 2 * at / last);
    } else if (name == "cosine") {
      values.push_back(std::sin(kPi / count * (at + 0.5)));
    } else if (name == "triang") {
      const double from_edge = std::min(at, last - at) + 1;
      values.push_back(full % 2 == 0 ? (2 * from_edge - 1) / count : 2 * from_edge / (count + 1));
    } else {
      double value = 0, sign = 1;
      const std::vector<double>& factors = cosine_windows().at(name);
      for (std::size_t k = 0; k < factors.size(); ++k, sign = -sign) {
        value += sign * factors[k] * std::cos(2 * kPi * static_cast<double>(k) * at / last);
      }
      values.push_back(value);
    }
  }
  return values;
}

}  // namespace

STFTInitializer::STFTInitializer(STFTOptions options) : options_(std::move(options)) {
  STFTInitializer::fields_changed();
}

void STFTInitializer::visit_fields(FieldVisitor& visitor) { visit_options(options_, visitor); }

void STFTInitializer::fields_changed() {
  if (options_.side != "real" && options_.side != "imag") {
    throw invalid_argument("STFT", "side must be 'real' or 'imag'", {{"side", options_.side}});
  }
  if (options_.scaling && *options_.scaling != "density" && *options_.scaling != "spectrum") {
    throw invalid_argument("STFT", "scaling must be 'density', 'spectrum' or none", {{"scaling", *options_.scaling}});
  }
  if (options_.window && !is_window(*options_.window)) {
    throw invalid_argument("STFT", "window must be a known window: hann, hamming, blackman, bartlett, boxcar, ...",
                           {{"window", *options_.window}});
  }
}

Tensor STFTInitializer::operator()(const Shape& shape, DType dtype) const {
  if (shape.rank() != 3 || shape[2] < 2) {
    throw invalid_argument("STFT", "a shape (frame, channels, frequencies) is expected, with 2 frequencies at least",
                           {{"shape", shape}});
  }
  const std::int64_t frame = shape[0], frequencies = shape[2];
  if (shape[1] != 1) throw invalid_argument("STFT", "one channel is expected", {{"shape", shape}});
  std::vector<double> window(static_cast<std::size_t>(frame), 1.0);
  double scale = 1.0;
  if (options_.window) {
    window = window_values(*options_.window, frame, options_.periodic);
    double sum = 0, squares = 0;
    for (double value : window) {
      sum += std::abs(value);
      squares += value * value;
    }
    if (options_.scaling) scale = *options_.scaling == "density" ? std::sqrt(squares) : sum;
  }
  std::vector<float> values;
  for (std::int64_t t = 0; t < frame; ++t) {
    for (std::int64_t f = 0; f < frequencies; ++f) {
      const double angle =
          -2.0 * static_cast<double>(t) * static_cast<double>(f) / static_cast<double>((frequencies - 1) * 2) * kPi;
      const double wave = options_.side == "real" ? std::cos(angle) : std::sin(angle);
      values.push_back(static_cast<float>(wave * window[static_cast<std::size_t>(t)] / scale));
    }
  }
  return from_floats(values, shape, dtype);
}

COHORT_REGISTER(Initializer, STFTInitializer, "STFT", "stft", "STFTInitializer");

STFT::STFT(STFTOptions options) : Ref(std::make_shared<STFTInitializer>(std::move(options))) {}

}  // namespace cohort::initializers
