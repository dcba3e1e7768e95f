#pragma once

#include <cstdint>
#include <cstring>

#include "cohort/core/dtype.h"
#include "cohort/kernels/cpu/byte_lanes.h"
#include "cohort/kernels/cpu/vector_width.h"

namespace cohort::kernels {

// Max pooling of 16 channels at a time in vector registers, of float or BFloat16. Selections are written as vector
// expressions: of loops over channels g++ makes branches, which half of the elements take.
class MaxPoolLanes {
 public:
  static constexpr std::int64_t kChannels = 16;

  // The largest of the elements at the offsets and which it is; the first of equal ones.
  template <class T>
  static void largest(const T* image, const std::int64_t* offsets, int taps, T* y, std::uint8_t* index) {
    Floats best[kVectors];
    Integers where[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      best[v] = load_floats(image + offsets[0] + v * kWidth);
      where[v] = Integers{};
    }
    for (int t = 1; t < taps; ++t) {
      const T* x = image + offsets[t];
      const Integers tap = Integers{} + t;
      for (int v = 0; v < kVectors; ++v) {
        const Floats value = load_floats(x + v * kWidth);
        const Integers larger = best[v] < value;
        best[v] = larger ? value : best[v];
        where[v] = larger ? tap : where[v];
      }
    }
    for (int v = 0; v < kVectors; ++v) store_floats(best[v], y + v * kWidth);
    for (int v = 0; v < kVectors; ++v) ByteLanes::store(where[v], index + v * kWidth);
  }

  // The reverse: dy at the offset that the index names and zero at the others, set or added to what is there.
  template <bool kAdd, class T>
  static void spread(const T* dy, const std::uint8_t* index, const std::int64_t* offsets, int taps, T* image) {
    Floats flow[kVectors];
    Integers where[kVectors];
    for (int v = 0; v < kVectors; ++v) flow[v] = load_floats(dy + v * kWidth);
    for (int v = 0; v < kVectors; ++v) where[v] = ByteLanes::load(index + v * kWidth);
    for (int t = 0; t < taps; ++t) {
      T* dx = image + offsets[t];
      const Integers tap = Integers{} + t;
      for (int v = 0; v < kVectors; ++v) {
        Floats value = where[v] == tap ? flow[v] : Floats{};
        if constexpr (kAdd) value += load_floats(dx + v * kWidth);
        store_floats(value, dx + v * kWidth);
      }
    }
  }

 private:
  static constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(float));
  static constexpr int kVectors = static_cast<int>(kChannels) / kWidth;
  typedef float Floats __attribute__((vector_size(kVectorBytes)));
  using Integers = ByteLanes::Integers;
  typedef std::uint32_t Words __attribute__((vector_size(kVectorBytes)));
  typedef std::uint16_t HalfWords __attribute__((vector_size(kVectorBytes / 2)));

  static Floats load_floats(const float* from) { return load<Floats>(from); }
  static Floats load_floats(const BFloat16* from) {
    return (Floats)(__builtin_convertvector(load<HalfWords>(from), Words) << 16);
  }
  static void store_floats(Floats value, float* to) { store(value, to); }
  // Rounded to even. A value that was BFloat16 before stays as it is, and so does a NaN: its low bits are zeros.
  static void store_floats(Floats value, BFloat16* to) {
    const Words bits = (Words)value, rounded = bits + 0x7fff + (bits >> 16 & 1);
    store(__builtin_convertvector(rounded >> 16, HalfWords), reinterpret_cast<std::uint16_t*>(to));
  }

  template <class Vector, class Number>
  static Vector load(const Number* from) {
    Vector value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  template <class Vector, class Number>
  static void store(Vector value, Number* to) {
    std::memcpy(to, &value, sizeof value);
  }
};

}  // namespace cohort::kernels
