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
COHORT_KERNEL("TakeAlongAxis", kCPU, make_take_along_axis);
COHORT_KERNEL("TakeAlongAxisGrad", kCPU, make_take_along_axis_grad);
COHORT_KERNEL("OneHot", kCPU, make_one_hot);

}  // namespace
}  // namespace cohort
