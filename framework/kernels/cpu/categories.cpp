#include <algorithm>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/kernels/refusals.h"

namespace cohort {
namespace {

template <class T>
KernelFn make_bucketize_of(const KernelSpec& spec) {
  const auto given = spec.attr<std::vector<double>>("boundaries");
  // Compared in x's own type, as TensorFlow does.
  std::vector<T> boundaries;
  for (double each : given) boundaries.push_back(static_cast<T>(each));
  const std::int64_t size = spec.input_size(0);
  return [boundaries, size](const KernelIO& io) {
    const T* x = io.in<T>(0);
    auto* y = io.out<std::int32_t>(0);
    parallel_for(size, 4096, [&, x, y](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        y[i] = static_cast<std::int32_t>(std::upper_bound(boundaries.begin(), boundaries.end(), x[i]) -
                                         boundaries.begin());
      }
    });
  };
}

KernelFn make_bucketize(const KernelSpec& spec) {
  return spec.input(0).dtype == DType::Float64 ? make_bucketize_of<double>(spec) : make_bucketize_of<float>(spec);
}

template <class Index, class T>
KernelFn make_count_of(const KernelSpec& spec) {
  const std::int64_t depth = spec.attr<std::int64_t>("depth"), width = spec.input(0).shape.back();
  const std::int64_t rows = spec.output_size(0) / depth;
  const bool binary = spec.attr<bool>("binary"), weighted = spec.num_inputs() == 2;
  return [=](const KernelIO& io) {
    const Index* categories = io.in<Index>(0);
    const T* weights = weighted ? io.in<T>(1) : nullptr;
    T* counts = io.out<T>(0);
    const T one = value_as<T>(1.0);
    parallel_for(rows, std::max<std::int64_t>(1, 4096 / depth), [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        T* row = counts + r * depth;
        std::fill_n(row, depth, value_as<T>(0.0));
        for (std::int64_t j = r * width; j < (r + 1) * width; ++j) {
          const auto category = static_cast<std::int64_t>(categories[j]);
          if (category < 0) refuse_category(r, category);
          if (category >= depth) continue;
          row[category] = binary ? one : static_cast<T>(row[category] + (weights ? weights[j] : one));
        }
      }
    });
  };
}

KernelFn make_count_categories(const KernelSpec& spec) {
  return visit_number(spec.output(0).dtype, [&]<class T>(T) -> KernelFn {
    return spec.input(0).dtype == DType::Int32 ? make_count_of<std::int32_t, T>(spec)
                                               : make_count_of<std::int64_t, T>(spec);
  });
}

COHORT_KERNEL("Bucketize", kCPU, make_bucketize);
COHORT_KERNEL("CountCategories", kCPU, make_count_categories);

}  // namespace
}  // namespace cohort
