#include "cohort/distribute/collective/reduction.h"

#include <algorithm>

namespace cohort::distribute::collective {
namespace {

template <class T>
void add_values(const void* left, const void* right, void* sum, std::size_t count) {
  const T* const a = static_cast<const T*>(left);
  const T* const b = static_cast<const T*>(right);
  T* const to = static_cast<T*>(sum);
  if constexpr (std::is_integral_v<T>) {
    using Wrapping = std::make_unsigned_t<T>;
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = static_cast<T>(static_cast<Wrapping>(a[i]) + static_cast<Wrapping>(b[i]));
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    for (std::size_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
  } else {
    for (std::size_t i = 0; i < count; ++i) to[i] = T(static_cast<float>(a[i]) + static_cast<float>(b[i]));
  }
}

}  // namespace

bool can_add(DType dtype) { return is_floating(dtype) || dtype == DType::Int32 || dtype == DType::Int64; }

void add(DType dtype, const void* left, const void* right, void* sum, std::size_t count) {
  visit_summable(dtype, [&]<class T>(T) { add_values<T>(left, right, sum, count); });
}

// Some elements at a time: sums stay in the nearest cache until they are whole.
void add_up(DType dtype, std::span<const std::byte* const> others, std::byte* own, std::size_t count) {
  constexpr std::size_t kSummedBytes = std::size_t{16} << 10;
  alignas(64) thread_local std::byte sums[kSummedBytes];
  const std::size_t bytes = count * size_of(dtype);
  for (std::size_t done = 0; done < bytes; done += kSummedBytes) {
    const std::size_t part = std::min(kSummedBytes, bytes - done) / size_of(dtype);
    const std::byte* sum = others[0] + done;
    for (const std::byte* other : others.subspan(1)) {
      add(dtype, other + done, sum, sums, part);
      sum = sums;
    }
    add(dtype, own + done, sum, own + done, part);
  }
}

}  // namespace cohort::distribute::collective
