#include <cstring>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/index_check.h"

namespace cohort {
namespace {

constexpr std::int64_t kGrain = 1 << 16;

KernelFn make_assign(const KernelSpec& spec) {
  const std::size_t bytes = static_cast<std::size_t>(spec.input_size(1)) * size_of(spec.input(1).dtype);
  return [bytes](const KernelIO& io) {
    if (bytes > 0 && io.inputs[0] != io.inputs[1]) std::memcpy(io.inputs[0], io.inputs[1], bytes);
  };
}

KernelFn make_copy(const KernelSpec& spec) {
  const std::size_t bytes = static_cast<std::size_t>(spec.output_size(0)) * size_of(spec.output(0).dtype);
  return [bytes](const KernelIO& io) {
    if (bytes > 0) std::memcpy(io.outputs[0], io.inputs[0], bytes);
  };
}

template <int kSign>
KernelFn make_accumulate(const KernelSpec& spec) {
  const std::int64_t count = spec.input_size(1);
  return visit_dtype(spec.input(1).dtype, [&](auto zero) -> KernelFn {
    using T = decltype(zero);
    return [count](const KernelIO& io) {
      T* variable = static_cast<T*>(io.inputs[0]);
      const T* delta = io.in<T>(1);
      parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) variable[i] = static_cast<T>(variable[i] + kSign * delta[i]);
      });
    };
  });
}

KernelFn make_scatter_add(const KernelSpec& spec) {
  const Shape shape = spec.attr<Shape>("shape");
  const std::int64_t rows = shape[0], width = rows == 0 ? 0 : shape.num_elements() / rows;
  const std::int64_t count = spec.input_size(1);
  const bool wide = spec.input(1).dtype == DType::Int64;
  return visit_dtype(spec.input(2).dtype, [&](auto zero) -> KernelFn {
    using T = decltype(zero);
    return [=](const KernelIO& io) {
      T* variable = static_cast<T*>(io.inputs[0]);
      const auto row_at = [&](std::int64_t i) {
        return wide ? io.in<std::int64_t>(1)[i] : std::int64_t{io.in<std::int32_t>(1)[i]};
      };
      // All of them first: a write that fails leaves the variable as it was.
      for (std::int64_t i = 0; i < count; ++i) {
        if (const std::int64_t row = row_at(i); row < 0 || row >= rows) throw_bad_row(i, row, rows);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        T* row = variable + row_at(i) * width;
        const T* values = io.in<T>(2) + i * width;
        for (std::int64_t k = 0; k < width; ++k) row[k] = static_cast<T>(row[k] + values[k]);
      }
    };
  });
}

COHORT_KERNEL("CopyVariable", kCPU, make_copy);
COHORT_KERNEL("AssignVariable", kCPU, make_assign);
COHORT_KERNEL("AssignAddVariable", kCPU, make_accumulate<1>);
COHORT_KERNEL("AssignSubVariable", kCPU, make_accumulate<-1>);
COHORT_KERNEL("ScatterAddVariable", kCPU, make_scatter_add);

}  // namespace
}  // namespace cohort
