#include <array>

#include "cohort/kernels/cpu/element_types.h"
#include "cohort/kernels/cpu/max_pool_lanes.h"
#include "cohort/kernels/cpu/pooling.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort::kernels {

namespace {

template <class Visit>
KernelFn visit_pool_index(DType dtype, Visit&& visit) {
  return dtype == DType::UInt8 ? visit(std::uint8_t{}) : visit(std::int32_t{});
}

// The comparison selects, never branches, so that the channels go through vector registers.
template <class T, class I, class Count>
void max_of_window(const PoolPlan& plan, const PoolWindow& window, const T* image, T* y, I* index, Count count) {
  using C = Compute<T>;
  C best[kPoolGroup];
  std::int32_t where[kPoolGroup];
  std::int32_t tap = 0;
  for_each_tap(plan, window, [&](std::int64_t offset) {
    const T* x = image + offset;
    if (tap == 0) {
      for (std::int64_t c = 0; c < count; ++c) {
        best[c] = C(x[c]);
        where[c] = 0;
      }
    } else {
      for (std::int64_t c = 0; c < count; ++c) {
        const C value = C(x[c]);
        where[c] = best[c] < value ? tap : where[c];
        best[c] = best[c] < value ? value : best[c];
      }
    }
    ++tap;
  });
  for (std::int64_t c = 0; c < count; ++c) y[c] = T(best[c]);
  for (std::int64_t c = 0; c < count; ++c) index[c] = static_cast<I>(where[c]);
}

// Where the elements of a window lie, counted from its first; as many as a byte can tell apart. Most windows of a
// pooling have one size.
class TapOffsets {
 public:
  // For this window; returns where its first element lies in the image.
  std::int64_t fit(const PoolPlan& plan, const PoolWindow& window) {
    const std::int64_t first =
        window.begin[0] * plan.step(0) + window.begin[1] * plan.step(1) + window.begin[2] * plan.step(2);
    const std::array<std::int64_t, 3> size = {window.end[0] - window.begin[0], window.end[1] - window.begin[1],
                                              window.end[2] - window.begin[2]};
    if (size == size_) return first;
    size_ = size;
    taps = 0;
    for_each_tap(plan, window, [&](std::int64_t offset) { at[static_cast<std::size_t>(taps++)] = offset - first; });
    return first;
  }
  std::array<std::int64_t, 256> at;
  int taps = 0;

 private:
  std::array<std::int64_t, 3> size_ = {};
};

template <class T, class I>
constexpr bool has_lanes = (std::is_same_v<T, float> || std::is_same_v<T, BFloat16>)&&std::is_same_v<I, std::uint8_t>;
// How many channels, counted from the first, go through MaxPoolLanes.
template <class T, class I>
std::int64_t lane_channels(const PoolPlan& plan) {
  return has_lanes<T, I> ? plan.channels / MaxPoolLanes::kChannels * MaxPoolLanes::kChannels : 0;
}

KernelFn make_max_pool(const KernelSpec& spec) {
  const PoolPlan plan(spec, spec.input(0).shape);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    return visit_pool_index(spec.output(1).dtype, [&]<class I>(I) -> KernelFn {
      return [plan](const KernelIO& io) {
        for_pool_rows(plan, [&](std::int64_t image, std::int64_t row) {
          const T* x = io.in<T>(0) + image * plan.image();
          const std::int64_t first = (image * plan.rows() + row) * plan.row_outputs();
          [[maybe_unused]] TapOffsets offsets;
          for_each_window(plan, row, [&](const PoolWindow& window, std::int64_t output) {
            T* y = io.out<T>(0) + first + output;
            I* index = io.out<I>(1) + first + output;
            const std::int64_t in_lanes = lane_channels<T, I>(plan);
            if constexpr (has_lanes<T, I>) {
              const T* start = x + offsets.fit(plan, window);
              for (std::int64_t c = 0; c < in_lanes; c += MaxPoolLanes::kChannels) {
                MaxPoolLanes::largest(start + c, offsets.at.data(), offsets.taps, y + c, index + c);
              }
            }
            for_channel_groups(plan.channels - in_lanes, [&](std::int64_t rest, auto count) {
              const std::int64_t c = in_lanes + rest;
              max_of_window(plan, window, x + c, y + c, index + c, count);
            });
          });
        });
      };
    });
  });
}

// (dy, index, like)
KernelFn make_max_pool_grad(const KernelSpec& spec) {
  const PoolPlan plan(spec, spec.output(0).shape);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    return visit_pool_index(spec.input(1).dtype, [&]<class I>(I) -> KernelFn {
      return [plan, disjoint = plan.disjoint()](const KernelIO& io) {
        for_pool_rows_back(plan, io.out<T>(0), [&](std::int64_t image, std::int64_t row) {
          T* dx = io.out<T>(0) + image * plan.image();
          const std::int64_t first = (image * plan.rows() + row) * plan.row_outputs();
          [[maybe_unused]] TapOffsets offsets;
          for_each_window(plan, row, [&](const PoolWindow& window, std::int64_t output) {
            const T* dy = io.in<T>(0) + first + output;
            const I* index = io.in<I>(1) + first + output;
            const std::int64_t in_lanes = lane_channels<T, I>(plan);
            if constexpr (has_lanes<T, I>) {
              T* start = dx + offsets.fit(plan, window);
              for (std::int64_t c = 0; c < in_lanes; c += MaxPoolLanes::kChannels) {
                const auto spread = disjoint ? MaxPoolLanes::spread<false, T> : MaxPoolLanes::spread<true, T>;
                spread(dy + c, index + c, offsets.at.data(), offsets.taps, start + c);
              }
            }
            if (in_lanes == plan.channels) return;
            std::int32_t tap = 0;
            for_each_tap(plan, window, [&](std::int64_t offset) {
              T* target = dx + offset;
              for (std::int64_t c = in_lanes; c < plan.channels; ++c) {
                target[c] = static_cast<T>(target[c] + (index[c] == static_cast<I>(tap) ? dy[c] : T(0)));
              }
              ++tap;
            });
          });
        });
      };
    });
  });
}

// (x, index)
KernelFn make_max_pool_select(const KernelSpec& spec) {
  const PoolPlan plan(spec, spec.input(0).shape);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    return visit_pool_index(spec.input(1).dtype, [&]<class I>(I) -> KernelFn {
      return [plan](const KernelIO& io) {
        for_pool_rows(plan, [&](std::int64_t image, std::int64_t row) {
          const T* x = io.in<T>(0) + image * plan.image();
          const std::int64_t first = (image * plan.rows() + row) * plan.row_outputs();
          for_each_window(plan, row, [&](const PoolWindow& window, std::int64_t output) {
            T* y = io.out<T>(0) + first + output;
            const I* index = io.in<I>(1) + first + output;
            std::int32_t tap = 0;
            for_each_tap(plan, window, [&](std::int64_t offset) {
              for (std::int64_t c = 0; c < plan.channels; ++c) {
                if (index[c] == static_cast<I>(tap)) y[c] = x[offset + c];
              }
              ++tap;
            });
          });
        });
      };
    });
  });
}

COHORT_KERNEL("MaxPool", kCPU, make_max_pool);
COHORT_KERNEL("MaxPoolGrad", kCPU, make_max_pool_grad);
COHORT_KERNEL("MaxPoolSelect", kCPU, make_max_pool_select);

}  // namespace
}  // namespace cohort::kernels
