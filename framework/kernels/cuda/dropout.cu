#include <cmath>

#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/philox.h"

namespace cohort::kernels::cuda {
namespace {

// Elements whose word lies below the first kept one become zero, the others grow by `scale`.
template <class T>
struct DropElements {
  const T* x;
  T* y;
  std::int64_t size;
  Compute<T> scale;
  std::uint32_t first_kept;
  bool keeps_any, packed;

  __device__ void operator()(const RandomSource& source, std::int64_t row, std::int64_t group) const {
    using Packed = Pack<T, kInGroup>;
    const std::int64_t at = row * size + kInGroup * group;
    if (packed) {
      Packed pack = *reinterpret_cast<const Packed*>(x + at);
      const RandomWords words = source.block(row, static_cast<std::uint64_t>(group));
#pragma unroll
      for (int i = 0; i < kInGroup; ++i) pack.values[i] = kept(pack.values[i], words[i]);
      *reinterpret_cast<Packed*>(y + at) = pack;
      return;
    }
    const RandomWords words = source.block(row, static_cast<std::uint64_t>(group));
#pragma unroll
    for (int i = 0; i < kInGroup; ++i) {
      if (kInGroup * group + i < size) y[at + i] = kept(x[at + i], words[i]);
    }
  }
  __device__ T kept(T value, std::uint32_t word) const {
    return narrowed<T>(keeps_any && word >= first_kept ? widened(value) * scale : Compute<T>{0});
  }
};

KernelFn make_dropout(const KernelSpec& spec) {
  const RandomGroups groups(spec.output(0).shape, kInGroup);
  const double rate = spec.attr<double>("rate");
  // Words below this drop their element: the comparison of integers is exact and cheap.
  const std::int64_t threshold = std::llround(rate * 4294967296.0);
  const bool keeps_any = threshold < (std::int64_t{1} << 32);
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_floating(spec.output(0).dtype, [=, seed = random_seed_of(spec)](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    const auto scale = static_cast<Compute<T>>(rate < 1 ? 1 / (1 - rate) : 0);
    return [=](const KernelIO& io) {
      const T* x = io.in<T>(0);
      T* y = io.out<T>(0);
      const auto places = reinterpret_cast<std::uintptr_t>(x) | reinterpret_cast<std::uintptr_t>(y);
      const bool packed = groups.size % kInGroup == 0 && places % sizeof(Pack<T, kInGroup>) == 0;
      launch_random_groups(
          groups, io, seed, *device,
          DropElements<T>{x, y, groups.size, scale, static_cast<std::uint32_t>(threshold), keeps_any, packed});
    };
  });
}

COHORT_KERNEL("Dropout", kGPU, make_dropout);

}  // namespace
}  // namespace cohort::kernels::cuda
