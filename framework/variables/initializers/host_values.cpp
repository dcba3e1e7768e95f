#include "cohort/variables/initializers/host_values.h"

#include <cmath>
#include <memory>

namespace cohort::initializers {

Tensor from_floats(const std::vector<float>& values, const Shape& shape, DType dtype) {
  if (dtype == DType::Float32) return Tensor::of(values, shape);
  return visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    // Not a vector: std::vector<bool> has no elements to point to.
    auto converted = std::make_unique<T[]>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) converted[i] = static_cast<T>(values[i]);
    return Tensor::of(std::span<const T>(converted.get(), values.size()), shape);
  });
}

NumberStream::NumberStream(std::optional<std::int64_t> seed)
    : stream_(RandomState{}, seed ? static_cast<std::uint64_t>(*seed) : next_op_seed(), 0) {}

std::uint32_t NumberStream::word() {
  if (drawn_ % 4 == 0) block_ = stream_.block(drawn_ / 4);
  return block_[drawn_++ % 4];
}

float NumberStream::uniform() { return to_unit_float(word()); }

float NumberStream::normal() {
  if (second_normal_) return *std::exchange(second_normal_, std::nullopt);
  const std::uint32_t a = word(), b = word();
  const std::array<float, 2> pair = to_normal(a, b);
  second_normal_ = pair[1];
  return pair[0];
}

float NumberStream::truncated_normal() {
  for (;;) {
    const float value = normal();
    if (std::abs(value) < 2.0f) return value;
  }
}

std::vector<float> random_values(const Shape& shape, std::optional<std::int64_t> seed, float (NumberStream::*draw)(),
                                 double scale, double shift) {
  NumberStream stream(seed);
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (float& value : values) {
    value = (stream.*draw)() * static_cast<float>(scale) + static_cast<float>(shift);
  }
  return values;
}

}  // namespace cohort::initializers
