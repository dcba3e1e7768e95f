#include <array>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/reduce_loops.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/kernels/reduce_plan.h"

namespace cohort::kernels {
namespace {

// Work one thread takes at a time, and into how many parts one long reduction is cut. Both depend on shapes alone.
constexpr std::int64_t kReduceGrain = 16384;
constexpr std::int64_t kReduceParts = 32;

// How a total becomes an element of the output.
struct Finish {
  double divisor = 1.0;  // of totals in double
  bool wide = false;     // the output is float32 that holds rounded sums of a half type
};

// What is done with elements of one type. Whoever calls it knows no types: how a tensor is walked and work is cut is
// compiled once, not for each of forty pairs of a reducer and a type.
struct Reduction {
  std::int64_t element_bytes, total_bytes;
  void (*clear)(void* totals, std::int64_t count);
  void (*merge)(void* totals, const void* others, std::int64_t count);
  void (*run)(const void* x, std::int64_t n, void* total);
  // A total of its own for each of some runs of n elements, which begin at these places.
  void (*runs)(const void* x, const std::int64_t* begins, std::int64_t count, std::int64_t n, void* totals);
  void (*columns)(const void* x, std::int64_t rows, std::int64_t row_stride, std::int64_t columns, void* totals);
  void (*store)(const void* totals, std::int64_t count, const Finish& finish, void* output, std::int64_t first);
};

template <class Reducer, class T>
struct ReductionOf {
  using Total = typename Reducer::Total;

  static void clear(void* totals, std::int64_t count) {
    std::fill_n(static_cast<Total*>(totals), count, Total(Reducer::kIdentity));
  }
  static void merge(void* totals, const void* others, std::int64_t count) {
    auto* to = static_cast<Total*>(totals);
    const auto* from = static_cast<const Total*>(others);
    for (std::int64_t i = 0; i < count; ++i) to[i] = Reducer::merge(to[i], from[i]);
  }
  static void run(const void* x, std::int64_t n, void* total) {
    auto& all = *static_cast<Total*>(total);
    all = reduce_run<Reducer>(static_cast<const T*>(x), n, all);
  }
  static void runs(const void* x, const std::int64_t* begins, std::int64_t count, std::int64_t n, void* totals) {
    for (std::int64_t i = 0; i < count; ++i) {
      static_cast<Total*>(totals)[i] =
          reduce_run<Reducer>(static_cast<const T*>(x) + begins[i], n, Total(Reducer::kIdentity));
    }
  }
  static void columns(const void* x, std::int64_t rows, std::int64_t row_stride, std::int64_t columns, void* totals) {
    reduce_columns<Reducer>(static_cast<const T*>(x), rows, row_stride, columns, static_cast<Total*>(totals));
  }
  static void store(const void* totals, std::int64_t count, const Finish& finish, void* output, std::int64_t first) {
    const auto* from = static_cast<const Total*>(totals);
    const bool divides = std::is_same_v<Total, double> && finish.divisor != 1.0;
    for (std::int64_t i = 0; i < count; ++i) {
      const Total total = divides ? static_cast<Total>(static_cast<double>(from[i]) / finish.divisor) : from[i];
      const T result = static_cast<T>(static_cast<Compute<T>>(total));
      if (!std::is_same_v<T, Compute<T>> && finish.wide) {
        static_cast<float*>(output)[first + i] = static_cast<float>(result);
      } else {
        static_cast<T*>(output)[first + i] = result;
      }
    }
  }

  static constexpr Reduction kFunctions{sizeof(T), sizeof(Total), clear, merge, run, runs, columns, store};
};

// Totals of any type, one behind the other.
template <std::int64_t kCount>
struct Totals {
  alignas(std::uint64_t) std::byte bytes[kCount * sizeof(std::uint64_t)];
};

const std::byte* input_of(const KernelIO& io) { return static_cast<const std::byte*>(io.inputs[0]); }

KernelFn reduce_rows_kernel(const ReducePlan& plan, const Reduction& use, const Finish& finish) {
  const std::int64_t outputs = plan.kept.count(), places = plan.reduced.count();
  // All rows under one output, split into parts when there are few outputs with much work each.
  const std::int64_t work = std::max<std::int64_t>(1, places * plan.rows * plan.columns);
  const bool by_columns = plan.rows == 1 && places == 1;
  const std::int64_t length = by_columns ? plan.columns : places * plan.rows;
  const std::int64_t unit = by_columns ? 1 : plan.columns;
  std::int64_t part = std::max<std::int64_t>(1, length);
  if (outputs < 16 && work >= 2 * kReduceGrain) {
    part = std::max((length + kReduceParts - 1) / kReduceParts, (kReduceGrain + unit - 1) / unit);
    if (by_columns) part = (part + 1023) / 1024 * 1024;
  }
  const auto reduce_part = [=, &use](const std::byte* x, std::int64_t begin, std::int64_t end, void* total) {
    use.clear(total, 1);
    if (by_columns) return use.run(x + begin * use.element_bytes, end - begin, total);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = plan.reduced.offset(i / plan.rows) + i % plan.rows * plan.row_stride;
      use.run(x + row * use.element_bytes, plan.columns, total);
    }
  };
  if (part < length) {
    const std::int64_t parts = (length + part - 1) / part;
    return [=, &use](const KernelIO& io) {
      for (std::int64_t output = 0; output < outputs; ++output) {
        const std::byte* x = input_of(io) + plan.kept.offset(output) * use.element_bytes;
        Totals<kReduceParts> totals;
        parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            reduce_part(x, i * part, std::min((i + 1) * part, length), totals.bytes + i * use.total_bytes);
          }
        });
        Totals<1> total;
        use.clear(total.bytes, 1);
        for (std::int64_t i = 0; i < parts; ++i) use.merge(total.bytes, totals.bytes + i * use.total_bytes, 1);
        use.store(total.bytes, 1, finish, io.outputs[0], output);
      }
    };
  }
  return [=, &use](const KernelIO& io) {
    parallel_for(outputs, std::max<std::int64_t>(1, kReduceGrain / work), [&](std::int64_t begin, std::int64_t end) {
      constexpr std::int64_t kTogether = 64;
      Totals<kTogether> totals;
      for (std::int64_t first = begin; first < end; first += kTogether) {
        const std::int64_t count = std::min(kTogether, end - first);
        std::int64_t begins[kTogether];
        for (std::int64_t i = 0; i < count; ++i) begins[i] = plan.kept.offset(first + i);
        if (by_columns) {
          use.runs(input_of(io), begins, count, length, totals.bytes);
        } else {
          for (std::int64_t i = 0; i < count; ++i) {
            reduce_part(input_of(io) + begins[i] * use.element_bytes, 0, length, totals.bytes + i * use.total_bytes);
          }
        }
        use.store(totals.bytes, count, finish, io.outputs[0], first);
      }
    });
  };
}

KernelFn reduce_columns_kernel(const ReducePlan& plan, const Reduction& use, const Finish& finish) {
  const std::int64_t width = std::min(plan.columns, kColumnBlock);
  const std::int64_t blocks = width > 0 ? (plan.columns + width - 1) / width : 0;
  const std::int64_t tasks = plan.kept.count() * blocks, places = plan.reduced.count();
  const std::int64_t work = std::max<std::int64_t>(1, places * plan.rows * width);
  const auto for_columns = [=, &use](const KernelIO& io, std::int64_t task, std::int64_t first_row,
                                     std::int64_t last_row, void* totals) {
    const std::int64_t column = task % blocks * width, count = std::min(width, plan.columns - column);
    const std::int64_t start = plan.kept.offset(task / blocks) + column + first_row * plan.row_stride;
    use.clear(totals, count);
    for (std::int64_t place = 0; place < places; ++place) {
      use.columns(input_of(io) + (start + plan.reduced.offset(place)) * use.element_bytes, last_row - first_row,
                  plan.row_stride, count, totals);
    }
  };
  const auto store = [=, &use](const KernelIO& io, std::int64_t task, const void* totals) {
    const std::int64_t column = task % blocks * width, count = std::min(width, plan.columns - column);
    use.store(totals, count, finish, io.outputs[0], task / blocks * plan.columns + column);
  };
  const std::int64_t part_rows =
      std::max((plan.rows + kReduceParts - 1) / kReduceParts, kReduceGrain / std::max<std::int64_t>(1, places * width));
  if (tasks < 8 && work >= 2 * kReduceGrain && part_rows < plan.rows) {
    const std::int64_t parts = (plan.rows + part_rows - 1) / part_rows;
    return [=, &use](const KernelIO& io) {
      for (std::int64_t task = 0; task < tasks; ++task) {
        std::array<Totals<kColumnBlock>, kReduceParts> totals;
        parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            for_columns(io, task, i * part_rows, std::min((i + 1) * part_rows, plan.rows), totals[i].bytes);
          }
        });
        const std::int64_t count = std::min(width, plan.columns - task % blocks * width);
        for (std::int64_t i = 1; i < parts; ++i) use.merge(totals[0].bytes, totals[i].bytes, count);
        store(io, task, totals[0].bytes);
      }
    };
  }
  return [=, &use](const KernelIO& io) {
    parallel_for(tasks, std::max<std::int64_t>(1, kReduceGrain / work), [&](std::int64_t begin, std::int64_t end) {
      Totals<kColumnBlock> totals;
      for (std::int64_t task = begin; task < end; ++task) {
        for_columns(io, task, 0, plan.rows, totals.bytes);
        store(io, task, totals.bytes);
      }
    });
  };
}

ReducePlan plan_of(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  return ReducePlan(shape, reduced_axes(shape, spec.attr<std::vector<std::int64_t>>("axes")));
}

template <template <class> class Reducer, fn::Types types>
KernelFn make(const KernelSpec& spec, const ReducePlan& plan, double divisor = 1.0) {
  return visit_plain(spec.input(0).dtype, [&](auto zero) -> KernelFn {
    using T = decltype(zero);
    if constexpr (accepts<types, T>) {
      const Reduction& use = ReductionOf<Reducer<T>, T>::kFunctions;
      const Finish finish{.divisor = divisor, .wide = spec.output(0).dtype != dtype_of<T>};
      return plan.over_columns ? reduce_rows_kernel(plan, use, finish) : reduce_columns_kernel(plan, use, finish);
    }
    return {};
  });
}

KernelFn make_sum(const KernelSpec& spec) { return make<SumReducer, fn::Types::Number>(spec, plan_of(spec)); }
KernelFn make_prod(const KernelSpec& spec) { return make<ProdReducer, fn::Types::Number>(spec, plan_of(spec)); }
KernelFn make_max(const KernelSpec& spec) { return make<MaxReducer, fn::Types::Number>(spec, plan_of(spec)); }
KernelFn make_min(const KernelSpec& spec) { return make<MinReducer, fn::Types::Number>(spec, plan_of(spec)); }
KernelFn make_any(const KernelSpec& spec) { return make<AnyReducer, fn::Types::Bool>(spec, plan_of(spec)); }
KernelFn make_all(const KernelSpec& spec) { return make<AllReducer, fn::Types::Bool>(spec, plan_of(spec)); }

KernelFn make_sum_to_like(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  return make<SumReducer, fn::Types::Number>(spec, ReducePlan(shape, broadcast_axes(shape, spec.input(1).shape)));
}

KernelFn make_mean(const KernelSpec& spec) {
  const ReducePlan plan = plan_of(spec);
  return make<SumReducer, fn::Types::Float>(spec, plan, static_cast<double>(plan.reduced_count));
}

KernelFn make_size_of(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const AxisMask mask = reduced_axes(shape, spec.attr<std::vector<std::int64_t>>("axes"));
  std::int64_t size = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (mask[static_cast<std::size_t>(axis)]) size *= shape[axis];
  }
  return visit_plain(spec.output(0).dtype, [size](auto zero) -> KernelFn {
    using T = decltype(zero);
    return [size](const KernelIO& io) { *io.out<T>(0) = static_cast<T>(size); };
  });
}

}  // namespace

COHORT_KERNEL("Sum", kCPU, make_sum);
COHORT_KERNEL("Prod", kCPU, make_prod);
COHORT_KERNEL("Max", kCPU, make_max);
COHORT_KERNEL("Min", kCPU, make_min);
COHORT_KERNEL("Any", kCPU, make_any);
COHORT_KERNEL("All", kCPU, make_all);
COHORT_KERNEL("Mean", kCPU, make_mean);
COHORT_KERNEL("SumToLike", kCPU, make_sum_to_like);
COHORT_KERNEL("SizeOf", kCPU, make_size_of);

}  // namespace cohort::kernels
