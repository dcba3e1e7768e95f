#pragma once

#include <algorithm>
#include <array>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/reducers.h"
#include "cohort/kernels/reduce_plan.h"

namespace cohort::kernels {

// Work one thread takes at a time, and into how many parts one long reduction is cut. Both depend on shapes alone.
inline constexpr std::int64_t kReduceGrain = 16384;
inline constexpr std::int64_t kReduceParts = 32;
// Columns that are combined at a time: their lanes stay in registers and the first-level cache.
inline constexpr std::int64_t kColumnBlock = 128;

// Takes as many whole groups of kLanes elements as there are off the front of x.
template <class Reducer, int kLanes, class T>
typename Reducer::Total reduce_lanes(const T*& x, std::int64_t& n, typename Reducer::Total total) {
  constexpr std::int64_t kStepsPerLane = 32;
  typename Reducer::Lane lanes[kLanes];
  while (n >= kLanes) {
    const std::int64_t steps = std::min(n / kLanes, kStepsPerLane);
    for (int j = 0; j < kLanes; ++j) lanes[j] = Reducer::lift(x[j]);
    for (std::int64_t step = 1; step < steps; ++step) {
      for (int j = 0; j < kLanes; ++j) lanes[j] = Reducer::merge(lanes[j], Reducer::lift(x[step * kLanes + j]));
    }
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) lanes[j] = Reducer::merge(lanes[j], lanes[j + width]);
    }
    total = Reducer::merge(total, lanes[0]);
    x += steps * kLanes;
    n -= steps * kLanes;
  }
  return total;
}

template <class Reducer, class T>
typename Reducer::Total reduce_run(const T* x, std::int64_t n, typename Reducer::Total total) {
  if (n >= 32) total = reduce_lanes<Reducer, 32>(x, n, total);
  total = reduce_lanes<Reducer, 4>(x, n, total);
  for (std::int64_t j = 0; j < n; ++j) total = Reducer::merge(total, Reducer::lift(x[j]));
  return total;
}

// Combines rows column by column into totals[0, columns), columns <= kColumnBlock.
template <class Reducer, class T>
void reduce_columns(const T* x, std::int64_t rows, std::int64_t row_stride, std::int64_t columns,
                    typename Reducer::Total* totals) {
  constexpr std::int64_t kRowsPerLane = 64;
  typename Reducer::Lane lanes[kColumnBlock];
  while (rows > 0) {
    const std::int64_t taken = std::min(rows, kRowsPerLane);
    std::int64_t row = 0;
    for (std::int64_t j = 0; j < columns; ++j) lanes[j] = Reducer::kIdentity;
    for (; row + 4 <= taken; row += 4, x += 4 * row_stride) {
      const T *x0 = x, *x1 = x + row_stride, *x2 = x1 + row_stride, *x3 = x2 + row_stride;
      for (std::int64_t j = 0; j < columns; ++j) {
        lanes[j] = Reducer::merge(lanes[j], Reducer::merge(Reducer::merge(Reducer::lift(x0[j]), Reducer::lift(x1[j])),
                                                           Reducer::merge(Reducer::lift(x2[j]), Reducer::lift(x3[j]))));
      }
    }
    for (; row < taken; ++row, x += row_stride) {
      for (std::int64_t j = 0; j < columns; ++j) lanes[j] = Reducer::merge(lanes[j], Reducer::lift(x[j]));
    }
    for (std::int64_t j = 0; j < columns; ++j) totals[j] = Reducer::merge(totals[j], lanes[j]);
    rows -= taken;
  }
}

// Finish turns a total into an element of the output.
template <class Reducer, class T, class Finish>
KernelFn reduce_rows_kernel(const ReducePlan& plan, Finish finish) {
  using Total = typename Reducer::Total;
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
  const auto reduce_part = [=](const T* x, std::int64_t begin, std::int64_t end) {
    Total total = Reducer::kIdentity;
    if (by_columns) return reduce_run<Reducer>(x + begin, end - begin, total);
    for (std::int64_t i = begin; i < end; ++i) {
      const T* row = x + plan.reduced.offset(i / plan.rows) + i % plan.rows * plan.row_stride;
      total = reduce_run<Reducer>(row, plan.columns, total);
    }
    return total;
  };
  if (part < length) {
    const std::int64_t parts = (length + part - 1) / part;
    return [=](const KernelIO& io) {
      for (std::int64_t output = 0; output < outputs; ++output) {
        const T* x = io.in<T>(0) + plan.kept.offset(output);
        std::array<Total, kReduceParts> totals{};
        parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            totals[i] = reduce_part(x, i * part, std::min((i + 1) * part, length));
          }
        });
        Total total = Reducer::kIdentity;
        for (std::int64_t i = 0; i < parts; ++i) total = Reducer::merge(total, totals[i]);
        finish(total, io, output);
      }
    };
  }
  return [=](const KernelIO& io) {
    parallel_for(outputs, std::max<std::int64_t>(1, kReduceGrain / work), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t output = begin; output < end; ++output) {
        finish(reduce_part(io.in<T>(0) + plan.kept.offset(output), 0, length), io, output);
      }
    });
  };
}

template <class Reducer, class T, class Finish>
KernelFn reduce_columns_kernel(const ReducePlan& plan, Finish finish) {
  using Total = typename Reducer::Total;
  const std::int64_t width = std::min(plan.columns, kColumnBlock);
  const std::int64_t blocks = width > 0 ? (plan.columns + width - 1) / width : 0;
  const std::int64_t tasks = plan.kept.count() * blocks, places = plan.reduced.count();
  const std::int64_t work = std::max<std::int64_t>(1, places * plan.rows * width);
  const auto for_columns = [=](const KernelIO& io, std::int64_t task, std::int64_t first_row, std::int64_t last_row,
                               Total* totals) {
    const std::int64_t column = task % blocks * width, count = std::min(width, plan.columns - column);
    const T* x = io.in<T>(0) + plan.kept.offset(task / blocks) + column;
    for (std::int64_t j = 0; j < count; ++j) totals[j] = Reducer::kIdentity;
    for (std::int64_t place = 0; place < places; ++place) {
      reduce_columns<Reducer>(x + plan.reduced.offset(place) + first_row * plan.row_stride, last_row - first_row,
                              plan.row_stride, count, totals);
    }
  };
  const auto store = [=](const KernelIO& io, std::int64_t task, const Total* totals) {
    const std::int64_t column = task % blocks * width, count = std::min(width, plan.columns - column);
    const std::int64_t first = task / blocks * plan.columns + column;
    for (std::int64_t j = 0; j < count; ++j) finish(totals[j], io, first + j);
  };
  const std::int64_t part_rows =
      std::max((plan.rows + kReduceParts - 1) / kReduceParts, kReduceGrain / std::max<std::int64_t>(1, places * width));
  if (tasks < 8 && work >= 2 * kReduceGrain && part_rows < plan.rows) {
    const std::int64_t parts = (plan.rows + part_rows - 1) / part_rows;
    return [=](const KernelIO& io) {
      for (std::int64_t task = 0; task < tasks; ++task) {
        std::array<std::array<Total, kColumnBlock>, kReduceParts> totals;
        parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            for_columns(io, task, i * part_rows, std::min((i + 1) * part_rows, plan.rows), totals[i].data());
          }
        });
        for (std::int64_t i = 1; i < parts; ++i) {
          for (std::int64_t j = 0; j < width; ++j) totals[0][j] = Reducer::merge(totals[0][j], totals[i][j]);
        }
        store(io, task, totals[0].data());
      }
    };
  }
  return [=](const KernelIO& io) {
    parallel_for(tasks, std::max<std::int64_t>(1, kReduceGrain / work), [&](std::int64_t begin, std::int64_t end) {
      std::array<Total, kColumnBlock> totals;
      for (std::int64_t task = begin; task < end; ++task) {
        for_columns(io, task, 0, plan.rows, totals.data());
        store(io, task, totals.data());
      }
    });
  };
}

template <class Reducer, class T, class Finish>
KernelFn reduce_kernel(const ReducePlan& plan, Finish finish) {
  return plan.over_columns ? reduce_rows_kernel<Reducer, T>(plan, finish)
                           : reduce_columns_kernel<Reducer, T>(plan, finish);
}

}  // namespace cohort::kernels
