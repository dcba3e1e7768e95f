#include <algorithm>
#include <numeric>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"

namespace cohort {
namespace {

// Strict orders of numbers; NaN comes last in both.
template <class T>
bool smaller_first(T a, T b) {
  return a < b || (b != b && a == a);
}
template <class T>
bool larger_first(T a, T b) {
  return a > b || (b != b && a == a);
}

Scratch positions;

std::int32_t* positions_for(std::int64_t count) {
  auto* order = positions.get<std::int32_t>(count);
  std::iota(order, order + count, 0);
  return order;
}

std::int64_t sorting_grain(std::int64_t row) {
  return std::max<std::int64_t>(1, 2048 / std::max<std::int64_t>(1, row));
}

KernelFn make_sort(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), shape.rank(), spec.name());
  const bool descending = spec.attr<bool>("descending");
  const std::int64_t count = shape[axis], inner = shape.slice(axis + 1).num_elements();
  const std::int64_t rows = shape.slice(0, axis).num_elements() * inner;
  return visit_dtype(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    const auto before = descending ? larger_first<T> : smaller_first<T>;
    return [=](const KernelIO& io) {
      const T* x = io.in<T>(0);
      T* values = io.out<T>(0);
      std::int32_t* indices = io.out<std::int32_t>(1);
      parallel_for(rows, sorting_grain(count), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          const std::int64_t start = r / inner * count * inner + r % inner;
          const T* row = x + start;
          std::int32_t* order = positions_for(count);
          // Ties are broken by position: the same order as a stable sort, without its memory.
          std::sort(order, order + count, [=](std::int32_t a, std::int32_t b) {
            const T va = row[a * inner], vb = row[b * inner];
            if (before(va, vb)) return true;
            return !before(vb, va) && a < b;
          });
          for (std::int64_t j = 0; j < count; ++j) {
            values[start + j * inner] = row[order[j] * inner];
            indices[start + j * inner] = order[j];
          }
        }
      });
    };
  });
}

KernelFn make_top_k(const KernelSpec& spec) {
  const std::int64_t count = spec.input(0).shape.back(), k = spec.output(0).shape.back();
  const std::int64_t rows = count == 0 ? 0 : spec.input_size(0) / count;
  return visit_dtype(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    return [=](const KernelIO& io) {
      const T* x = io.in<T>(0);
      T* values = io.out<T>(0);
      std::int32_t* indices = io.out<std::int32_t>(1);
      parallel_for(rows, sorting_grain(count), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          const T* row = x + r * count;
          std::int32_t* order = positions_for(count);
          std::partial_sort(order, order + k, order + count, [=](std::int32_t a, std::int32_t b) {
            return larger_first(row[a], row[b]) || (!larger_first(row[b], row[a]) && a < b);
          });
          for (std::int64_t j = 0; j < k; ++j) {
            values[r * k + j] = row[order[j]];
            indices[r * k + j] = order[j];
          }
        }
      });
    };
  });
}

KernelFn make_unique(const KernelSpec& spec) {
  const Shape shape = spec.input(0).shape;
  const std::int64_t size = spec.input_size(0);
  return visit_dtype(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    return [=](const KernelIO& io) {
      const T* x = io.in<T>(0);
      std::int32_t* order = positions_for(size);
      std::sort(order, order + size, [=](std::int32_t a, std::int32_t b) {
        return smaller_first(x[a], x[b]) || (!smaller_first(x[b], x[a]) && a < b);
      });
      auto* inverse = static_cast<std::int64_t*>(io.allocator->allocate(1, shape));
      std::int64_t different = 0;
      for (std::int64_t i = 0; i < size; ++i) {
        different += i == 0 || smaller_first(x[order[i - 1]], x[order[i]]);
        inverse[order[i]] = different - 1;
      }
      T* values = static_cast<T*>(io.allocator->allocate(0, {different}));
      auto* counts = static_cast<std::int64_t*>(io.allocator->allocate(2, {different}));
      std::fill_n(counts, different, 0);
      for (std::int64_t i = 0; i < size; ++i) {
        values[inverse[i]] = x[i];
        ++counts[inverse[i]];
      }
    };
  });
}

COHORT_KERNEL("Sort", kCPU, make_sort);
COHORT_KERNEL("TopK", kCPU, make_top_k);
COHORT_KERNEL("Unique", kCPU, make_unique);

}  // namespace
}  // namespace cohort
