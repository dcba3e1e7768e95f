#pragma once

#include <cstdint>
#include <cstring>

namespace cohort::kernels {

// Max pooling of 16 float channels at a time in vector registers. Selections are written as vector expressions: of
// loops over channels g++ makes branches, which half of the elements take.
class MaxPoolLanes {
 public:
  static constexpr std::int64_t kChannels = 16;

  // The largest of the elements at the offsets and which it is; the first of equal ones.
  static void largest(const float* image, const std::int64_t* offsets, int taps, float* y, std::uint8_t* index) {
    const float* first = image + offsets[0];
    Floats best0 = load(first), best1 = load(first + 4), best2 = load(first + 8), best3 = load(first + 12);
    Integers where0 = {}, where1 = {}, where2 = {}, where3 = {};
    for (int t = 1; t < taps; ++t) {
      const float* x = image + offsets[t];
      const Integers tap = Integers{} + t;
      take_larger(load(x), tap, best0, where0);
      take_larger(load(x + 4), tap, best1, where1);
      take_larger(load(x + 8), tap, best2, where2);
      take_larger(load(x + 12), tap, best3, where3);
    }
    store(best0, y), store(best1, y + 4), store(best2, y + 8), store(best3, y + 12);
    std::int32_t where[kChannels];
    store(where0, where), store(where1, where + 4), store(where2, where + 8), store(where3, where + 12);
    std::uint8_t narrow[kChannels];
    for (int c = 0; c < kChannels; ++c) narrow[c] = static_cast<std::uint8_t>(where[c]);
    std::memcpy(index, narrow, kChannels);
  }

  // The reverse: dy at the offset that the index names and zero at the others, set or added to what is there.
  template <bool kAdd>
  static void spread(const float* dy, const std::uint8_t* index, const std::int64_t* offsets, int taps, float* image) {
    std::uint8_t narrow[kChannels];
    std::memcpy(narrow, index, kChannels);
    std::int32_t where[kChannels];
    for (int c = 0; c < kChannels; ++c) where[c] = narrow[c];
    const Integers where0 = load(where), where1 = load(where + 4), where2 = load(where + 8), where3 = load(where + 12);
    const Floats dy0 = load(dy), dy1 = load(dy + 4), dy2 = load(dy + 8), dy3 = load(dy + 12);
    for (int t = 0; t < taps; ++t) {
      float* dx = image + offsets[t];
      const Integers tap = Integers{} + t;
      put<kAdd>(where0 == tap, dy0, dx);
      put<kAdd>(where1 == tap, dy1, dx + 4);
      put<kAdd>(where2 == tap, dy2, dx + 8);
      put<kAdd>(where3 == tap, dy3, dx + 12);
    }
  }

 private:
  typedef float Floats __attribute__((vector_size(16)));
  typedef std::int32_t Integers __attribute__((vector_size(16)));

  static Floats load(const float* from) {
    Floats value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  static Integers load(const std::int32_t* from) {
    Integers value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  template <class V, class T>
  static void store(V value, T* to) {
    std::memcpy(to, &value, sizeof value);
  }
  static void take_larger(Floats value, Integers tap, Floats& best, Integers& where) {
    const Integers larger = best < value;
    best = larger ? value : best;
    where = larger ? tap : where;
  }
  template <bool kAdd>
  static void put(Integers chosen, Floats dy, float* to) {
    const Floats value = chosen ? dy : Floats{};
    if constexpr (kAdd) {
      store(load(to) + value, to);
    } else {
      store(value, to);
    }
  }
};

}  // namespace cohort::kernels
