#include <cstring>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/reduce_loops.h"
#include "cohort/kernels/functors.h"
#include "cohort/kernels/index_check.h"

namespace cohort {
namespace {

constexpr std::int64_t kUpdateGrain = 1 << 16;

KernelFn make_assign(const KernelSpec& spec) {
  const std::size_t bytes = static_cast<std::size_t>(spec.input_size(1)) * size_of(spec.input(1).dtype);
  return [bytes](const KernelIO& io) {
    if (bytes > 0 && io.inputs[0] != io.inputs[1]) std::memcpy(io.inputs[0], io.inputs[1], bytes);
  };
}

KernelFn make_copy_variable(const KernelSpec& spec) {
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
      parallel_for(count, kUpdateGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            using Step = std::conditional_t < kSign<0, fn::Subtract, fn::Add>;
            variable[i] = Step()(variable[i], delta[i]);  // wraps around
          } else {
            variable[i] = static_cast<T>(variable[i] + kSign * delta[i]);
          }
        }
      });
    };
  });
}

// One of several additions.
struct Addition {
  int variable, value;  // inputs
  std::int64_t count;   // of values
  double factor;
  bool reduces, divides;
};

// Each step is rounded as the ops do it that this stands for.
template <class T>
void add_reals(const Addition& addition, const KernelIO& io) {
  T* variable = static_cast<T*>(io.inputs[addition.variable]);
  const T* values = io.in<T>(addition.value);
  const T factor = static_cast<T>(addition.factor);
  if (addition.reduces) {
    const double total = kernels::reduce_run<kernels::SumReducer<T>>(values, addition.count, 0.0);
    const T value = static_cast<T>(addition.divides ? total / static_cast<double>(addition.count) : total);
    *variable += factor * value;
    return;
  }
  for (std::int64_t i = 0; i < addition.count; ++i) variable[i] += factor * values[i];
}
// Integers wrap around.
template <class T>
void add_integers(const Addition& addition, const KernelIO& io) {
  T* variable = static_cast<T*>(io.inputs[addition.variable]);
  const T* values = io.in<T>(addition.value);
  for (std::int64_t i = 0; i < addition.count; ++i) {
    const auto sum = static_cast<std::uint64_t>(variable[i]), value = static_cast<std::uint64_t>(values[i]);
    variable[i] = static_cast<T>(addition.factor > 0 ? sum + value : sum - value);
  }
}

KernelFn make_additions(const KernelSpec& spec) {
  using Add = void (*)(const Addition&, const KernelIO&);
  const auto factors = spec.attr<std::vector<double>>("factors");
  const auto reductions = spec.attr<std::vector<std::string>>("reductions");
  std::vector<std::pair<Add, Addition>> additions;
  const int count = spec.num_inputs() / 2;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const DType dtype = spec.input(count + i).dtype;
    const Add add = dtype == DType::Float32   ? add_reals<float>
                    : dtype == DType::Float64 ? add_reals<double>
                    : dtype == DType::Int32   ? add_integers<std::int32_t>
                                              : add_integers<std::int64_t>;
    additions.push_back({add,
                         {.variable = i,
                          .value = count + i,
                          .count = spec.input_size(count + i),
                          .factor = factors[at],
                          .reduces = !reductions[at].empty(),
                          .divides = reductions[at] == "Mean"}});
  }
  return [additions](const KernelIO& io) {
    for (const auto& [add, addition] : additions) add(addition, io);
  };
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

COHORT_KERNEL("CopyVariable", kCPU, make_copy_variable);
COHORT_KERNEL("AssignVariable", kCPU, make_assign);
COHORT_KERNEL("AssignAddVariable", kCPU, make_accumulate<1>);
COHORT_KERNEL("AssignSubVariable", kCPU, make_accumulate<-1>);
COHORT_KERNEL("AssignAddVariables", kCPU, make_additions);
COHORT_KERNEL("ScatterAddVariable", kCPU, make_scatter_add);

}  // namespace
}  // namespace cohort
