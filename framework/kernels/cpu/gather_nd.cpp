#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/strided_copy.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/kernels/index_check.h"

namespace cohort {
namespace {

// Positions in the last axis of an index tensor: how many, how deep, and the slices of the target they name.
struct Positions {
  const char* op;
  std::int64_t count = 0;
  int depth = 0;
  std::int64_t slice = 1;
  Shape target;
  std::array<std::int64_t, Shape::kMaxRank> strides{};

  Positions(const KernelSpec& spec, const Shape& target, const Shape& indices)
      : op(spec.call().op().name().c_str()), depth(static_cast<int>(indices.back())), target(target) {
    count = indices.slice(0, indices.rank() - 1).num_elements();
    slice = target.slice(depth).num_elements();
    strides = row_major_strides(target);
  }
  // Where slice number `i` starts in the target.
  template <class Index>
  std::int64_t offset(const Index* indices, std::int64_t i) const {
    std::int64_t at = 0;
    for (int d = 0; d < depth; ++d) {
      at += checked_index(op, indices, i * depth + d, target[d]) * strides[static_cast<std::size_t>(d)];
    }
    return at;
  }
};

KernelFn make_gather_nd(const KernelSpec& spec) {
  const Positions positions(spec, spec.input(0).shape, spec.input(1).shape);
  return visit_element(spec.input(0).dtype, [&]<class T>(T) {
    return visit_index(spec.input(1).dtype, [&]<class Index>(Index) -> KernelFn {
      return [positions](const KernelIO& io) {
        const T* from = io.in<T>(0);
        const Index* indices = io.in<Index>(1);
        T* to = io.out<T>(0);
        const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, positions.slice));
        parallel_for(positions.count, grain, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            std::copy_n(from + positions.offset(indices, i), positions.slice, to + i * positions.slice);
          }
        });
      };
    });
  });
}

// Positions may repeat, so updates are added one after the other.
KernelFn scatter_nd(const KernelSpec& spec, int indices_input, int updates_input) {
  const Positions positions(spec, spec.output(0).shape, spec.input(indices_input).shape);
  const std::int64_t size = spec.output_size(0);
  return visit_number(spec.output(0).dtype, [&]<class T>(T) {
    return visit_index(spec.input(indices_input).dtype, [&]<class Index>(Index) -> KernelFn {
      return [=](const KernelIO& io) {
        const Index* indices = io.in<Index>(indices_input);
        const T* updates = io.in<T>(updates_input);
        T* sums = io.out<T>(0);
        std::fill_n(sums, size, T(0));
        for (std::int64_t i = 0; i < positions.count; ++i) {
          T* to = sums + positions.offset(indices, i);
          const T* from = updates + i * positions.slice;
          for (std::int64_t j = 0; j < positions.slice; ++j) to[j] = static_cast<T>(to[j] + from[j]);
        }
      };
    });
  });
}
KernelFn make_scatter_nd(const KernelSpec& spec) { return scatter_nd(spec, 0, 1); }
KernelFn make_scatter_nd_like(const KernelSpec& spec) { return scatter_nd(spec, 1, 2); }

KernelFn make_scatter_update(const KernelSpec& spec) {
  const Positions positions(spec, spec.output(0).shape, spec.input(1).shape);
  const std::int64_t size = spec.output_size(0);
  return visit_element(spec.output(0).dtype, [&]<class T>(T) {
    return visit_index(spec.input(1).dtype, [&]<class Index>(Index) -> KernelFn {
      return [=](const KernelIO& io) {
        const Index* indices = io.in<Index>(1);
        const T* updates = io.in<T>(2);
        T* out = io.out<T>(0);
        std::copy_n(io.in<T>(0), size, out);
        for (std::int64_t i = 0; i < positions.count; ++i) {
          std::copy_n(updates + i * positions.slice, positions.slice, out + positions.offset(indices, i));
        }
      };
    });
  });
}

KernelFn make_where(const KernelSpec& spec) {
  const Shape shape = spec.input(0).shape;
  const std::int64_t size = spec.input_size(0);
  return visit_dtype(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    return [=](const KernelIO& io) {
      const T* condition = io.in<T>(0);
      const auto is_set = [](T value) { return static_cast<float>(value) != 0.0f; };
      const std::int64_t found = std::count_if(condition, condition + size, is_set);
      auto* out = static_cast<std::int64_t*>(io.allocator->allocate(0, {found, shape.rank()}));
      for (std::int64_t i = 0; i < size; ++i) {
        if (!is_set(condition[i])) continue;
        std::int64_t rest = i;
        for (int d = shape.rank() - 1; d >= 0; --d) {
          out[d] = rest % shape[d];
          rest /= shape[d];
        }
        out += shape.rank();
      }
    };
  });
}

COHORT_KERNEL("GatherNd", kCPU, make_gather_nd);
COHORT_KERNEL("ScatterNd", kCPU, make_scatter_nd);
COHORT_KERNEL("ScatterNdLike", kCPU, make_scatter_nd_like);
COHORT_KERNEL("TensorScatterUpdate", kCPU, make_scatter_update);
COHORT_KERNEL("Where", kCPU, make_where);

}  // namespace
}  // namespace cohort
