#include "cohort/distribute/collective/reduction.h"

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

}  // namespace cohort::distribute::collective
