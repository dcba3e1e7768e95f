// Rows that are added up in a table of zeros.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <span>

#include "cohort/core/collective.h"
#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/element_types.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/kernels/index_check.h"

namespace cohort {
namespace {

using RowGroups = std::span<const Collective::Rows>;

// Values [outer, count, inner] of each group added into zeros [outer, size, inner]. Tasks are parts of the rows and
// columns that are added to, so that equal indices add up in their order whoever computes: each clears its own and adds
// to them while they are in its cache. All look at all indices, so there are few parts of the rows.
//   of_each: what is added of a value.
template <class T, class Index, class OfEach = std::identity>
void scatter_add(const char* op, RowGroups groups, T* sums, std::int64_t outer, std::int64_t size, std::int64_t inner,
                 OfEach of_each = {}) {
  constexpr std::int64_t kColumns = 128, kMostParts = 16, kTaskElements = 1 << 14;
  std::int64_t count = 0;
  for (const Collective::Rows& group : groups) {
    count += group.count;
    const Index* indices = static_cast<const Index*>(group.indices);
    for (std::int64_t i = 0; i < group.count; ++i) checked_index(op, indices, i, size);
  }
  const std::int64_t strips = (inner + kColumns - 1) / kColumns;
  const std::int64_t wanted = (size + count) * std::min(inner, kColumns) / kTaskElements;
  const std::int64_t rows = std::max<std::int64_t>(1, size / std::clamp<std::int64_t>(wanted, 1, kMostParts));
  const std::int64_t parts = (size + rows - 1) / rows;
  const std::int64_t task_elements = std::max<std::int64_t>(1, (rows + count) * std::min(inner, kColumns));
  const std::int64_t grain = std::max<std::int64_t>(1, kTaskElements / task_elements);
  parallel_for(outer * parts * strips, grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t o = task / strips / parts, column = task % strips * kColumns;
      const std::int64_t columns = std::min(kColumns, inner - column);
      const std::int64_t first = task / strips % parts * rows, own_rows = std::min(rows, size - first);
      T* own = sums + (o * size + first) * inner + column;
      if (columns == inner) {
        std::memset(static_cast<void*>(own), 0, static_cast<std::size_t>(own_rows * inner) * sizeof(T));
      } else {
        for (std::int64_t row = 0; row < own_rows; ++row) std::fill_n(own + row * inner, columns, T(0));
      }
      for (const Collective::Rows& group : groups) {
        const Index* indices = static_cast<const Index*>(group.indices);
        const T* values = static_cast<const T*>(group.values) + o * group.count * inner + column;
        for (std::int64_t i = 0; i < group.count; ++i) {
          const std::int64_t row = static_cast<std::int64_t>(indices[i]) - first;
          if (row < 0 || row >= own_rows) continue;
          const T* from = values + i * inner;
          T* to = own + row * inner;
          for (std::int64_t j = 0; j < columns; ++j) to[j] = static_cast<T>(to[j] + of_each(from[j]));
        }
      }
    }
  });
}

// A group's types, number and size; the memory comes when it runs.
Collective::Rows rows_of(const KernelSpec& spec, int indices, int values, std::int64_t elements) {
  return {spec.input(values).dtype, spec.input(indices).dtype, spec.input_size(indices), elements, nullptr, nullptr};
}

template <class Make>
KernelFn for_types(const KernelSpec& spec, int indices, const Make& make) {
  return visit_number(spec.output(0).dtype, [&]<class T>(T) {
    return visit_index(spec.input(indices).dtype,
                       [&]<class Index>(Index) { return make.template operator()<T, Index>(); });
  });
}

KernelFn make_scatter_add_like(const KernelSpec& spec) {
  const Shape& like = spec.input(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), like.rank(), spec.name());
  const std::int64_t outer = like.slice(0, axis).num_elements(), size = like[axis];
  const std::int64_t inner = like.slice(axis + 1).num_elements();
  return for_types(spec, 1, [&]<class T, class Index>() -> KernelFn {
    return [=, rows = rows_of(spec, 1, 2, inner)](const KernelIO& io) {
      std::array group{rows};
      group[0].indices = io.inputs[1], group[0].values = io.inputs[2];
      scatter_add<T, Index>("ScatterAddLike", group, io.out<T>(0), outer, size, inner);
    };
  });
}

// (collective, like, indices, values)
KernelFn make_all_reduce_rows(const KernelSpec& spec) {
  // To gather rows takes some calls more: a small table crosses faster than they do.
  constexpr std::int64_t kSmallTable = 32 << 10;
  const std::int64_t size = spec.output(0).shape[0], inner = spec.output(0).shape.slice(1).num_elements();
  const bool small = size * inner * static_cast<std::int64_t>(size_of(spec.output(0).dtype)) < kSmallTable;
  const std::string of_each = spec.attr<std::string>("of_each");
  const bool squares = of_each == "Square";
  const std::size_t tables = of_each.empty() ? 1 : 2;
  return for_types(spec, 2, [&]<class T, class Index>() -> KernelFn {
    return [=, rows = rows_of(spec, 2, 3, inner)](const KernelIO& io) {
      const auto add = [&](RowGroups groups) {
        const auto add_to = [&](int table, auto each) {
          scatter_add<T, Index>("AllReduceRows", groups, io.out<T>(table), 1, size, inner, each);
        };
        add_to(0, std::identity());
        if constexpr (is_floating(dtype_of<T>)) {
          const auto add_of_each = [&](auto functor) {
            add_to(1, [=](T value) { return static_cast<T>(functor(static_cast<kernels::Compute<T>>(value))); });
          };
          if (tables == 2) squares ? add_of_each(fn::Square()) : add_of_each(fn::Abs());
        }
      };
      Collective& collective = *static_cast<Collective*>(io.inputs[0]);
      std::array own{rows};
      own[0].indices = io.inputs[2], own[0].values = io.inputs[3];
      if (!small && collective.gather_rows(own[0], size * static_cast<std::int64_t>(tables), add)) return;
      // There are so many that the tables are less.
      add(own);
      const Collective::Part table{rows.dtype, size * inner};
      const std::array parts{table, table};
      const std::array<void*, 2> sums{io.outputs[0], io.outputs[tables - 1]};
      collective.all_reduce({parts.data(), tables}, sums.data(), sums.data(), Collective::Reduction::Sum);
    };
  });
}

COHORT_KERNEL("ScatterAddLike", kCPU, make_scatter_add_like);
COHORT_KERNEL("AllReduceRows", kCPU, make_all_reduce_rows);

}  // namespace
}  // namespace cohort
