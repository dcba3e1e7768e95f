#include "cohort/kernels/cuda/converted.h"
#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {
namespace {

struct Sizes {
  std::int64_t values[Shape::kMaxRank];
};

KernelFn make_shape_of(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  Sizes sizes{};
  std::copy(shape.begin(), shape.end(), sizes.values);
  return [sizes, rank = shape.rank(), device = &cohort::cuda::device_of(spec)](const KernelIO& io) {
    auto* out = io.out<std::int64_t>(0);
    launch_each(rank, *device, stream_of(io), [=] __device__(std::int64_t i) { out[i] = sizes.values[i]; });
  };
}

// A kernel that computes each element from its index alone. Not a lambda: nvcc loses those of functions that are local
// to a source and have local types for arguments.
template <class ValueAt>
struct StoreAt {
  void* out;
  DType dtype;
  ValueAt value_at;
  __device__ void operator()(std::int64_t i) const { store_converted(out, dtype, i, value_at(i)); }
};

template <class ValueAt>
KernelFn by_index(const KernelSpec& spec, ValueAt value_at) {
  return [value_at, dtype = spec.output(0).dtype, count = spec.output_size(0),
          device = &cohort::cuda::device_of(spec)](const KernelIO& io) {
    launch_each(count, *device, stream_of(io), StoreAt<ValueAt>{io.outputs[0], dtype, value_at});
  };
}

struct Steps {
  double start, step;
  __device__ double operator()(std::int64_t i) const { return start + static_cast<double>(i) * step; }
};

struct StepsTo {
  Steps steps;
  double stop;
  std::int64_t last;
  __device__ double operator()(std::int64_t i) const { return i > 0 && i == last ? stop : steps(i); }
};

struct Diagonal {
  std::int64_t columns, k;
  __device__ double operator()(std::int64_t i) const { return i % columns - i / columns == k ? 1.0 : 0.0; }
};

KernelFn make_range(const KernelSpec& spec) {
  return by_index(spec, Steps{spec.attr<double>("start"), spec.attr<double>("step")});
}

KernelFn make_linspace(const KernelSpec& spec) {
  const double start = spec.attr<double>("start"), stop = spec.attr<double>("stop");
  const std::int64_t count = spec.output_size(0);
  const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
  return by_index(spec, StepsTo{{start, step}, stop, count - 1});
}

KernelFn make_eye(const KernelSpec& spec) {
  const std::int64_t columns = std::max<std::int64_t>(1, spec.output(0).shape[1]);
  return by_index(spec, Diagonal{columns, spec.attr<std::int64_t>("k")});
}

COHORT_KERNEL("ShapeOf", kGPU, make_shape_of);
COHORT_KERNEL("Range", kGPU, make_range);
COHORT_KERNEL("Linspace", kGPU, make_linspace);
COHORT_KERNEL("Eye", kGPU, make_eye);

}  // namespace
}  // namespace cohort::kernels::cuda
