#include "cohort/kernels/cpu/pooling.h"

namespace cohort::kernels {

PoolPlan::PoolPlan(const KernelSpec& spec, const Shape& x) : batch(x[0]), channels(x.back()) {
  using Sizes = std::vector<std::int64_t>;
  const Sizes output_size = spec.attr<Sizes>("output_size"), pool_size = spec.attr<Sizes>("pool_size");
  const Sizes strides = spec.attr<Sizes>("strides");
  const bool same = spec.attr<std::string>("padding") == "same";
  for (int axis = 0; axis < x.rank() - 2; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    axes[at] = output_size.empty() ? pool_windows(x[axis + 1], pool_size[at], strides[at], same)
                                   : adaptive_pool_windows(x[axis + 1], output_size[at]);
  }
}

}  // namespace cohort::kernels
