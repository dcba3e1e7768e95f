#include <algorithm>
#include <cstring>
#include <string>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/strided_copy.h"
#include "cohort/kernels/cpu/typed_rows.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/kernels/index_check.h"

namespace cohort {
namespace {

std::int64_t grain_for(std::int64_t elements_per_item) {
  return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, elements_per_item));
}

// params [outer, size, inner] and indices [count] -> [outer, count, inner].
template <class T, class Index>
KernelFn gather(std::int64_t outer, std::int64_t size, std::int64_t inner, std::int64_t count) {
  return [=](const KernelIO& io) {
    const T* from = io.in<T>(0);
    const Index* indices = io.in<Index>(1);
    T* to = io.out<T>(0);
    parallel_for(outer * count, grain_for(inner), [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t index = checked_index("Gather", indices, i % count, size);
        std::copy_n(from + (i / count * size + index) * inner, inner, to + i * inner);
      }
    });
  };
}

// The same from float32 to a half type.
template <class Index>
KernelFn gather_rounded(std::int64_t outer, std::int64_t size, std::int64_t inner, std::int64_t count,
                        const TensorSpec& result) {
  return [=, rows = TypedRows<float>(result, inner)](const KernelIO& io) {
    const Index* indices = io.in<Index>(1);
    parallel_for(outer * count, grain_for(inner), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t index = checked_index("Gather", indices, i % count, size);
        rows.store(io.in<float>(0) + (i / count * size + index) * inner, io.outputs[0], i);
      }
    });
  };
}

KernelFn make_gather(const KernelSpec& spec) {
  const Shape& params = spec.input(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), params.rank(), spec.name());
  if (spec.output(0).dtype != spec.input(0).dtype) {
    return visit_index(spec.input(1).dtype, [&]<class Index>(Index) {
      return gather_rounded<Index>(params.slice(0, axis).num_elements(), params[axis],
                                   params.slice(axis + 1).num_elements(), spec.input_size(1), spec.output(0));
    });
  }
  return visit_element(spec.input(0).dtype, [&]<class T>(T) {
    return visit_index(spec.input(1).dtype, [&]<class Index>(Index) {
      return gather<T, Index>(params.slice(0, axis).num_elements(), params[axis], params.slice(axis + 1).num_elements(),
                              spec.input_size(1));
    });
  });
}

// values [outer, count, inner] added into zeros [outer, size, inner]. Tasks are parts of the rows and columns that are
// added to, so that equal indices add up in their order whoever computes: each clears its own and adds to them while
// they are in its cache. All look at all indices, so there are few parts of the rows.
template <class T, class Index>
KernelFn scatter_add(std::int64_t outer, std::int64_t size, std::int64_t inner, std::int64_t count) {
  constexpr std::int64_t kColumns = 128, kMostParts = 16, kTaskElements = 1 << 14;
  const std::int64_t strips = (inner + kColumns - 1) / kColumns;
  const std::int64_t wanted = (size + count) * std::min(inner, kColumns) / kTaskElements;
  const std::int64_t rows = std::max<std::int64_t>(1, size / std::clamp<std::int64_t>(wanted, 1, kMostParts));
  const std::int64_t parts = (size + rows - 1) / rows;
  return [=](const KernelIO& io) {
    const Index* indices = io.in<Index>(1);
    const T* values = io.in<T>(2);
    T* sums = io.out<T>(0);
    for (std::int64_t i = 0; i < count; ++i) checked_index("ScatterAddLike", indices, i, size);
    const std::int64_t grain = grain_for((rows + count) * std::min(inner, kColumns));
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
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t row = static_cast<std::int64_t>(indices[i]) - first;
          if (row < 0 || row >= own_rows) continue;
          const T* from = values + (o * count + i) * inner + column;
          T* to = own + row * inner;
          for (std::int64_t j = 0; j < columns; ++j) to[j] = static_cast<T>(to[j] + from[j]);
        }
      }
    });
  };
}

KernelFn make_scatter_add_like(const KernelSpec& spec) {
  const Shape& like = spec.input(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), like.rank(), spec.name());
  return visit_number(spec.output(0).dtype, [&]<class T>(T) {
    return visit_index(spec.input(1).dtype, [&]<class Index>(Index) {
      return scatter_add<T, Index>(like.slice(0, axis).num_elements(), like[axis], like.slice(axis + 1).num_elements(),
                                   spec.input_size(1));
    });
  });
}

// x [outer, size, inner] and indices [outer, count, inner]: each position picks along the middle axis.
template <class T, class Index>
KernelFn take_along_axis(std::int64_t outer, std::int64_t size, std::int64_t inner, std::int64_t count) {
  return [=](const KernelIO& io) {
    const T* from = io.in<T>(0);
    const Index* indices = io.in<Index>(1);
    T* to = io.out<T>(0);
    parallel_for(outer, grain_for(count * inner), [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin * count * inner; i < end * count * inner; ++i) {
        const std::int64_t index = checked_index("TakeAlongAxis", indices, i, size);
        to[i] = from[(i / (count * inner) * size + index) * inner + i % inner];
      }
    });
  };
}

template <class T, class Index>
KernelFn put_along_axis(std::int64_t outer, std::int64_t size, std::int64_t inner, std::int64_t count) {
  return [=](const KernelIO& io) {
    const T* dy = io.in<T>(0);
    const Index* indices = io.in<Index>(1);
    T* dx = io.out<T>(0);
    parallel_for(outer, grain_for(std::max(size, count) * inner), [=](std::int64_t begin, std::int64_t end) {
      std::fill(dx + begin * size * inner, dx + end * size * inner, T(0));
      for (std::int64_t i = begin * count * inner; i < end * count * inner; ++i) {
        const std::int64_t index = checked_index("TakeAlongAxisGrad", indices, i, size);
        T& target = dx[(i / (count * inner) * size + index) * inner + i % inner];
        target = static_cast<T>(target + dy[i]);
      }
    });
  };
}

KernelFn make_take_along_axis(const KernelSpec& spec) {
  const Shape& x = spec.input(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), x.rank(), spec.name());
  return visit_element(spec.input(0).dtype, [&]<class T>(T) {
    return visit_index(spec.input(1).dtype, [&]<class Index>(Index) {
      return take_along_axis<T, Index>(x.slice(0, axis).num_elements(), x[axis], x.slice(axis + 1).num_elements(),
                                       spec.input(1).shape[axis]);
    });
  });
}

KernelFn make_take_along_axis_grad(const KernelSpec& spec) {
  const Shape& x = spec.output(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), x.rank(), spec.name());
  return visit_number(spec.input(0).dtype, [&]<class T>(T) {
    return visit_index(spec.input(1).dtype, [&]<class Index>(Index) {
      return put_along_axis<T, Index>(x.slice(0, axis).num_elements(), x[axis], x.slice(axis + 1).num_elements(),
                                      spec.input(1).shape[axis]);
    });
  });
}

// indices [outer, inner] -> [outer, depth, inner].
KernelFn make_one_hot(const KernelSpec& spec) {
  const Shape& to = spec.output(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), to.rank(), spec.name());
  const std::int64_t outer = to.slice(0, axis).num_elements(), depth = to[axis];
  const std::int64_t inner = to.slice(axis + 1).num_elements();
  return visit_dtype(spec.output(0).dtype, [&]<class T>(T) {
    return visit_index(spec.input(0).dtype, [&]<class Index>(Index) -> KernelFn {
      return [=](const KernelIO& io) {
        const Index* indices = io.in<Index>(0);
        T* out = io.out<T>(0);
        parallel_for(outer, grain_for(depth * inner), [=](std::int64_t begin, std::int64_t end) {
          std::fill(out + begin * depth * inner, out + end * depth * inner, T(0));
          for (std::int64_t i = begin * inner; i < end * inner; ++i) {
            const auto index = static_cast<std::int64_t>(indices[i]);
            if (index >= 0 && index < depth) out[(i / inner * depth + index) * inner + i % inner] = T(1);
          }
        });
      };
    });
  });
}

COHORT_KERNEL("Gather", kCPU, make_gather);
COHORT_KERNEL("ScatterAddLike", kCPU, make_scatter_add_like);
COHORT_KERNEL("TakeAlongAxis", kCPU, make_take_along_axis);
COHORT_KERNEL("TakeAlongAxisGrad", kCPU, make_take_along_axis_grad);
COHORT_KERNEL("OneHot", kCPU, make_one_hot);

}  // namespace
}  // namespace cohort
