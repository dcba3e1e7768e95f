#include "cohort/variables/initializers/host_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "cohort/core/random.h"
#include "cohort/core/thread_pool.h"

namespace cohort::initializers {
namespace {

constexpr std::int64_t kNumbersOfBlock = 4;

std::array<float, kNumbersOfBlock> numbers_of(const std::array<std::uint32_t, 4>& words, bool normal) {
  if (!normal) {
    return {to_unit_float(words[0]), to_unit_float(words[1]), to_unit_float(words[2]), to_unit_float(words[3])};
  }
  const std::array<float, 2> first = to_normal(words[0], words[1]), second = to_normal(words[2], words[3]);
  return {first[0], first[1], second[0], second[1]};
}

// Numbers of a stream from a block on. Each is decided by its place: threads share them out.
void draw(const PhiloxStream& stream, std::uint64_t first_block, bool normal, std::span<float> values) {
  constexpr std::int64_t kGrain = 4096;  // blocks
  const auto count = static_cast<std::int64_t>(values.size());
  parallel_for((count + kNumbersOfBlock - 1) / kNumbersOfBlock, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto numbers = numbers_of(stream.block(first_block + static_cast<std::uint64_t>(i)), normal);
      const std::int64_t place = i * kNumbersOfBlock;
      std::copy_n(numbers.begin(), std::min(kNumbersOfBlock, count - place), values.begin() + place);
    }
  });
}

// Those of a stream of normal numbers that lie within two deviations, in their order.
void draw_truncated(const PhiloxStream& stream, std::span<float> values) {
  constexpr double kKept = 0.95;  // of all numbers, at least
  std::uint64_t next_block = 0;
  for (std::size_t filled = 0; filled < values.size();) {
    const auto wanted = static_cast<std::size_t>(static_cast<double>(values.size() - filled) / kKept);
    const std::uint64_t blocks = wanted / kNumbersOfBlock + 1;
    std::vector<float> drawn(blocks * kNumbersOfBlock);
    draw(stream, next_block, true, drawn);
    next_block += blocks;
    for (std::size_t i = 0; i < drawn.size() && filled < values.size(); ++i) {
      if (std::abs(drawn[i]) < 2.0f) values[filled++] = drawn[i];
    }
  }
}

}  // namespace

Tensor from_floats(const std::vector<float>& values, const Shape& shape, DType dtype) {
  if (dtype == DType::Float32) return Tensor::of(values, shape);
  return from_floats(Tensor::from_blob(const_cast<float*>(values.data()), DType::Float32, shape), dtype);
}

Tensor from_floats(const Tensor& values, DType dtype) {
  if (dtype == DType::Float32) return values.to(default_device());
  const std::span<const float> floats = values.data<float>();
  return visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    // Not a vector: std::vector<bool> has no elements to point to.
    auto converted = std::make_unique<T[]>(floats.size());
    for (std::size_t i = 0; i < floats.size(); ++i) converted[i] = static_cast<T>(floats[i]);
    return Tensor::of(std::span<const T>(converted.get(), floats.size()), values.shape());
  });
}

Tensor random_values(const Shape& shape, std::optional<std::int64_t> seed, Numbers numbers, double scale,
                     double shift) {
  const PhiloxStream stream(RandomState{}, seed ? static_cast<std::uint64_t>(*seed) : next_op_seed(), 0);
  const Tensor result = Tensor::empty(DType::Float32, shape, cpu());
  const std::span<float> values(static_cast<float*>(result.raw()), static_cast<std::size_t>(shape.num_elements()));
  if (numbers == Numbers::TruncatedNormal) {
    draw_truncated(stream, values);
  } else {
    draw(stream, 0, numbers == Numbers::Normal, values);
  }
  constexpr std::int64_t kGrain = 1 << 15;
  parallel_for(static_cast<std::int64_t>(values.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      values[i] = values[i] * static_cast<float>(scale) + static_cast<float>(shift);
    }
  });
  return result;
}

}  // namespace cohort::initializers
