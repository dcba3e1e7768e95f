#include <algorithm>
#include <vector>

#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/typed_elements.h"
#include "cohort/kernels/refusals.h"

namespace cohort::kernels::cuda {
namespace {

// As many boundaries as one launch takes along.
template <class T>
struct Boundaries {
  static constexpr int kMost = 3584 / static_cast<int>(sizeof(T));
  int count = 0;
  T values[kMost];

  // How many of them x has reached; NaN has reached all.
  __device__ int reached_by(T x) const {
    int low = 0, high = count;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (x < values[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

template <class T>
__global__ void __launch_bounds__(kBlock) bucketize(const T* x, std::int32_t* y, std::int64_t n,
                                                    __grid_constant__ const Boundaries<T> boundaries, bool adds) {
  COHORT_EACH(i, n) y[i] = (adds ? y[i] : 0) + boundaries.reached_by(x[i]);
}

template <class T>
KernelFn make_bucketize_of(const KernelSpec& spec) {
  // Each launch adds what its part of the boundaries makes.
  std::vector<Boundaries<T>> parts(1);
  for (double each : spec.attr<std::vector<double>>("boundaries")) {
    if (parts.back().count == Boundaries<T>::kMost) parts.emplace_back();
    parts.back().values[parts.back().count++] = static_cast<T>(each);
  }
  const std::int64_t n = spec.input_size(0);
  const auto* device = &cohort::cuda::device_of(spec);
  return [=](const KernelIO& io) {
    if (n == 0) return;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      bucketize<T><<<blocks_for(n, *device), kBlock, 0, stream_of(io)>>>(io.in<T>(0), io.out<std::int32_t>(0), n,
                                                                         parts[i], i > 0);
      cohort::cuda::check(cudaGetLastError());
    }
  };
}

KernelFn make_bucketize(const KernelSpec& spec) {
  return spec.input(0).dtype == DType::Float64 ? make_bucketize_of<double>(spec) : make_bucketize_of<float>(spec);
}

// A thread for each row and category: counts have the order of the elements, whatever their type rounds to.
template <class C>
__global__ void __launch_bounds__(kBlock)
    count_categories(TypedElements<std::int64_t> categories, TypedElements<C> weights, TypedElements<C> counts,
                     std::int64_t rows, std::int64_t width, std::int64_t depth, bool binary,
                     cohort::cuda::ErrorRecord* errors, unsigned int site) {
  COHORT_EACH(i, rows * depth) {
    const std::int64_t row = i / depth, wanted = i - row * depth;
    C count = 0;
    for (std::int64_t j = row * width; j < (row + 1) * width; ++j) {
      const std::int64_t category = categories[j];
      if (category < 0 && wanted == 0) cohort::cuda::report(errors, site, row, category);
      if (category != wanted) continue;
      count = binary ? C(1) : rounded(count + (weights.memory ? weights[j] : C(1)), counts.dtype);
    }
    counts.set(i, count);
  }
}

KernelFn make_count_categories(const KernelSpec& spec) {
  const std::int64_t depth = spec.attr<std::int64_t>("depth"), width = spec.input(0).shape.back();
  const std::int64_t rows = spec.output_size(0) / depth;
  const bool binary = spec.attr<bool>("binary"), weighted = spec.num_inputs() == 2;
  const DType category_type = spec.input(0).dtype, dtype = spec.output(0).dtype;
  auto* device = &cohort::cuda::device_of(spec);
  const unsigned int site =
      cohort::cuda::add_check(spec, [](std::int64_t row, std::int64_t category) { refuse_category(row, category); });
  return visit_computed(dtype, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    return [=](const KernelIO& io) {
      if (rows == 0) return;
      count_categories<C><<<blocks_for(rows * depth, *device), kBlock, 0, stream_of(io)>>>(
          {io.inputs[0], category_type}, {weighted ? io.inputs[1] : nullptr, dtype}, {io.outputs[0], dtype}, rows,
          width, depth, binary, device->error_record(), site);
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

COHORT_KERNEL("Bucketize", kGPU, make_bucketize);
COHORT_KERNEL("CountCategories", kGPU, make_count_categories);

}  // namespace
}  // namespace cohort::kernels::cuda
