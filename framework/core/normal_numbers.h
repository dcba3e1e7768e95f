#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "cohort/core/random.h"

// Normal numbers by additions, multiplications and square roots that each round by themselves: the same bits on every
// processor and at every width of vectors, which the C library's functions do not promise. Only for code that is
// compiled without contraction, as all of this project is.
namespace cohort::normal_numbers {

// The natural logarithm of a number in (0, 1] that is not below the normal range.
constexpr float log_of_unit(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  // x = 2^e * (1 + f), the second factor in [sqrt(1/2), sqrt(2)).
  const auto e_bits = static_cast<std::int32_t>(bits - 0x3f3504f3u) & static_cast<std::int32_t>(0xff800000u);
  const auto e = static_cast<float>(e_bits >> 23);
  const float f = __builtin_bit_cast(float, bits - static_cast<std::uint32_t>(e_bits)) - 1.0f;
  float q = 0x1.1b40e4p-4f;
  q = q * f - 0x1.e2e918p-4f;
  q = q * f + 0x1.e6512ep-4f;
  q = q * f - 0x1.fb434ep-4f;
  q = q * f + 0x1.2332b8p-3f;
  q = q * f - 0x1.5562e2p-3f;
  q = q * f + 0x1.99a546p-3f;
  q = q * f - 0x1.ffffeep-3f;
  q = q * f + 0x1.555546p-2f;
  const float square = f * f;
  float y = q * f * square;
  y = e * -2.12194440e-4f + y;
  y = -0.5f * square + y;
  return e * 0.693359375f + (f + y);
}

// Sine and cosine of `turns` full turns, for multiples of 2^-24 in [0, 1).
struct SineAndCosine {
  float sine, cosine;
};
constexpr SineAndCosine of_turns(float turns) {
  // Quarters of a turn, and what is left of one: exact.
  const float quarters = 4.0f * turns;
  const auto quarter = static_cast<std::int32_t>(quarters + 0.5f);
  const float r = quarters - static_cast<float>(quarter), z = r * r;
  float s = 1.60441184e-4f;
  s = s * z - 4.68175413e-3f;
  s = s * z + 7.96926262e-2f;
  s = s * z - 6.45964097e-1f;
  s = s * z + 1.57079633f;
  s = s * r;
  float c = -2.52020424e-5f;
  c = c * z + 9.19260274e-4f;
  c = c * z - 2.08634807e-2f;
  c = c * z + 2.53669508e-1f;
  c = c * z - 1.23370055f;
  c = c * z + 1.0f;
  const bool swapped = (quarter & 1) != 0;
  const float sine = swapped ? c : s, cosine = swapped ? s : c;
  const auto sine_sign = static_cast<std::uint32_t>((quarter & 2) != 0) << 31;
  const auto cosine_sign = static_cast<std::uint32_t>(((quarter + 1) & 2) != 0) << 31;
  return {__builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, sine) ^ sine_sign),
          __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, cosine) ^ cosine_sign)};
}

// Two independent standard normal numbers from two random words (Box and Muller).
inline std::array<float, 2> from_words(std::uint32_t a, std::uint32_t b) {
  const float radius = std::sqrt(-2.0f * log_of_unit(to_open_unit_float(a)));
  const SineAndCosine direction = of_turns(to_unit_float(b));
  return {radius * direction.cosine, radius * direction.sine};
}

}  // namespace cohort::normal_numbers
