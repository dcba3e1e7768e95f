#pragma once

#include <cstdint>
#include <cstring>

#include "cohort/kernels/cpu/vector_width.h"

namespace cohort::kernels {

// Running sums in four vector registers. A loop that adds to one number may not be reordered by the compiler, and so
// waits for each addition; here the order is fixed and four additions are in flight at a time.
template <class C>
class PackedSum {
 public:
  typedef C Pack __attribute__((vector_size(kVectorBytes)));
  static constexpr std::int64_t kWidth = kVectorBytes / sizeof(C), kStep = 4 * kWidth;

  void add(Pack a, Pack b, Pack c, Pack d) { sum0_ += a, sum1_ += b, sum2_ += c, sum3_ += d; }
  void add(C rest) { rest_ += rest; }
  C total() const {
    const Pack sum = (sum0_ + sum1_) + (sum2_ + sum3_);
    C total = rest_;
    for (std::int64_t i = 0; i < kWidth; ++i) total += sum[i];
    return total;
  }

 private:
  Pack sum0_ = {}, sum1_ = {}, sum2_ = {}, sum3_ = {};
  C rest_ = 0;
};

template <class C>
typename PackedSum<C>::Pack load_pack(const C* from) {
  typename PackedSum<C>::Pack pack;
  std::memcpy(&pack, from, sizeof pack);
  return pack;
}
template <class C>
void store_pack(typename PackedSum<C>::Pack pack, C* to) {
  std::memcpy(to, &pack, sizeof pack);
}

// The sum of value(x[i]) for i in [0, count); value takes a pack of elements or one.
template <class C, class Value>
C packed_sum(const C* x, std::int64_t count, const Value& value) {
  constexpr std::int64_t kWidth = PackedSum<C>::kWidth, kStep = PackedSum<C>::kStep;
  PackedSum<C> sum;
  std::int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    sum.add(value(load_pack(x + i)), value(load_pack(x + i + kWidth)), value(load_pack(x + i + 2 * kWidth)),
            value(load_pack(x + i + 3 * kWidth)));
  }
  for (; i < count; ++i) sum.add(value(x[i]));
  return sum.total();
}

}  // namespace cohort::kernels
