#include "cohort/kernels/cuda/conv_direct.h"

#include "cohort/kernels/cuda/conv_parts.h"
#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/multiply_add.h"

namespace cohort::kernels::cuda {
namespace {

// Threads that a sum over all pixels is cut for, so that a small kernel fills a GPU, too.
constexpr std::int64_t kGradientThreads = std::int64_t{1} << 18;
constexpr std::int64_t kMostParts = 1024;
constexpr std::int64_t kFewestPixels = 32;  // of a part
constexpr std::int64_t kPartsBytes = std::int64_t{32} << 20;

struct Split {
  std::int64_t quotient, remainder;
};
// Most sizes fit 32 bits, in which a division takes a fraction of the time.
__device__ inline Split split(std::int64_t i, std::int64_t size) {
  if (((i | size) >> 32) == 0) {
    const auto narrow = static_cast<std::uint32_t>(i), by = static_cast<std::uint32_t>(size);
    const std::uint32_t quotient = narrow / by;
    return {quotient, narrow - quotient * by};
  }
  const std::int64_t quotient = i / size;
  return {quotient, i - quotient * size};
}

__device__ inline bool reads_inside(const ConvWindow& axis, std::int64_t at) { return at >= 0 && at < axis.inputs; }

template <class T>
__global__ void __launch_bounds__(kBlock) forward(ConvSizes sizes, const T* __restrict__ x,
                                                  const T* __restrict__ kernel, T* __restrict__ y, std::int64_t total) {
  const ConvWindow &a0 = sizes.axes[0], &a1 = sizes.axes[1], &a2 = sizes.axes[2];
  COHORT_EACH(i, total) {
    const Split pixel = split(i, sizes.filters), o2 = split(pixel.quotient, a2.outputs),
                o1 = split(o2.quotient, a1.outputs), o0 = split(o1.quotient, a0.outputs);
    const std::int64_t filter = pixel.remainder, group = split(filter, sizes.group_filters).quotient;
    const T* taps = kernel + filter;
    Compute<T> sum = 0;
    for (std::int64_t t0 = 0; t0 < a0.taps; ++t0) {
      const std::int64_t p0 = o0.remainder * a0.stride + t0 * a0.dilation - a0.before;
      for (std::int64_t t1 = 0; t1 < a1.taps; ++t1) {
        const std::int64_t p1 = o1.remainder * a1.stride + t1 * a1.dilation - a1.before;
        for (std::int64_t t2 = 0; t2 < a2.taps; ++t2, taps += sizes.group_channels * sizes.filters) {
          const std::int64_t p2 = o2.remainder * a2.stride + t2 * a2.dilation - a2.before;
          if (!reads_inside(a0, p0) || !reads_inside(a1, p1) || !reads_inside(a2, p2)) continue;
          const std::int64_t at = ((o0.quotient * a0.inputs + p0) * a1.inputs + p1) * a2.inputs + p2;
          const T* read = x + at * sizes.channels + group * sizes.group_channels;
          for (std::int64_t c = 0; c < sizes.group_channels; ++c) {
            sum = multiply_add(widened(read[c]), widened(taps[c * sizes.filters]), sum);
          }
        }
      }
    }
    y[i] = narrowed<T>(sum);
  }
}

// The output that reads an input through a tap; false where there is none.
__device__ inline bool find_output(const ConvWindow& axis, std::int64_t input, std::int64_t tap, std::int64_t* output) {
  const std::int64_t reach = input + axis.before - tap * axis.dilation;
  if (reach < 0) return false;
  const Split found = split(reach, axis.stride);
  *output = found.quotient;
  return found.remainder == 0 && found.quotient < axis.outputs;
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    input_gradient(ConvSizes sizes, const T* __restrict__ dy, const T* __restrict__ kernel, T* __restrict__ dx,
                   std::int64_t total) {
  const ConvWindow &a0 = sizes.axes[0], &a1 = sizes.axes[1], &a2 = sizes.axes[2];
  COHORT_EACH(i, total) {
    const Split pixel = split(i, sizes.channels), p2 = split(pixel.quotient, a2.inputs),
                p1 = split(p2.quotient, a1.inputs), p0 = split(p1.quotient, a0.inputs);
    const Split channel = split(pixel.remainder, sizes.group_channels);
    const std::int64_t first_filter = channel.quotient * sizes.group_filters;
    const T* taps = kernel + channel.remainder * sizes.filters + first_filter;
    const std::int64_t tap_size = sizes.group_channels * sizes.filters;
    Compute<T> sum = 0;
    for (std::int64_t t0 = 0; t0 < a0.taps; ++t0) {
      std::int64_t o0, o1, o2;
      if (!find_output(a0, p0.remainder, t0, &o0)) continue;
      for (std::int64_t t1 = 0; t1 < a1.taps; ++t1) {
        if (!find_output(a1, p1.remainder, t1, &o1)) continue;
        for (std::int64_t t2 = 0; t2 < a2.taps; ++t2) {
          if (!find_output(a2, p2.remainder, t2, &o2)) continue;
          const std::int64_t at = ((p0.quotient * a0.outputs + o0) * a1.outputs + o1) * a2.outputs + o2;
          const T* from = dy + at * sizes.filters + first_filter;
          const T* weights = taps + ((t0 * a1.taps + t1) * a2.taps + t2) * tap_size;
          for (std::int64_t f = 0; f < sizes.group_filters; ++f) {
            sum = multiply_add(widened(from[f]), widened(weights[f]), sum);
          }
        }
      }
    }
    dx[i] = narrowed<T>(sum);
  }
}

// Part p of the sum over all output pixels, for each element of the kernel; `parts` lie one after the other in `to`.
template <class T, class To>
__global__ void __launch_bounds__(kBlock)
    kernel_gradient(ConvSizes sizes, const T* __restrict__ x, const T* __restrict__ dy, To* __restrict__ to,
                    std::int64_t elements, std::int64_t parts, std::int64_t part_pixels, std::int64_t pixels) {
  const ConvWindow &a0 = sizes.axes[0], &a1 = sizes.axes[1], &a2 = sizes.axes[2];
  COHORT_EACH(i, elements * parts) {
    const Split part = split(i, elements), column = split(part.remainder, sizes.filters),
                row = split(column.quotient, sizes.group_channels), t2 = split(row.quotient, a2.taps),
                t1 = split(t2.quotient, a1.taps);
    const std::int64_t filter = column.remainder,
                       channel = split(filter, sizes.group_filters).quotient * sizes.group_channels + row.remainder;
    const std::int64_t shift0 = t1.quotient * a0.dilation - a0.before, shift1 = t1.remainder * a1.dilation - a1.before,
                       shift2 = t2.remainder * a2.dilation - a2.before;
    const std::int64_t begin = part.quotient * part_pixels, end = min(pixels, begin + part_pixels);
    Compute<T> sum = 0;
    if (begin < end) {
      const Split first2 = split(begin, a2.outputs), first1 = split(first2.quotient, a1.outputs),
                  first0 = split(first1.quotient, a0.outputs);
      std::int64_t image = first0.quotient, o0 = first0.remainder, o1 = first1.remainder, o2 = first2.remainder;
      for (std::int64_t pixel = begin; pixel < end; ++pixel) {
        const std::int64_t p0 = o0 * a0.stride + shift0, p1 = o1 * a1.stride + shift1, p2 = o2 * a2.stride + shift2;
        if (reads_inside(a0, p0) && reads_inside(a1, p1) && reads_inside(a2, p2)) {
          const std::int64_t at = ((image * a0.inputs + p0) * a1.inputs + p1) * a2.inputs + p2;
          sum =
              multiply_add(widened(x[at * sizes.channels + channel]), widened(dy[pixel * sizes.filters + filter]), sum);
        }
        if (++o2 < a2.outputs) continue;
        o2 = 0;
        if (++o1 < a1.outputs) continue;
        o1 = 0;
        if (++o0 < a0.outputs) continue;
        o0 = 0;
        ++image;
      }
    }
    if constexpr (std::is_same_v<To, T>) {
      to[i] = narrowed<T>(sum);
    } else {
      to[i] = sum;
    }
  }
}

template <class Kernel, class... Arguments>
void launch(Kernel kernel, std::int64_t n, const cohort::cuda::CudaDevice& device, cudaStream_t stream,
            Arguments... arguments) {
  if (n == 0) return;
  kernel<<<blocks_for(n, device), kBlock, 0, stream>>>(arguments...);
  cohort::cuda::check(cudaGetLastError());
}

}  // namespace

KernelFn direct_conv(const KernelSpec& spec, const ConvSizes& sizes) {
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_floating(spec.output(0).dtype, [=](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return [=, total = sizes.outputs() * sizes.filters](const KernelIO& io) {
      launch(forward<T>, total, *device, stream_of(io), sizes, io.in<T>(0), io.in<T>(1), io.out<T>(0), total);
    };
  });
}

KernelFn direct_input_gradient(const KernelSpec& spec, const ConvSizes& sizes) {
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_floating(spec.output(0).dtype, [=](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return [=, total = sizes.inputs() * sizes.channels](const KernelIO& io) {
      launch(input_gradient<T>, total, *device, stream_of(io), sizes, io.in<T>(0), io.in<T>(1), io.out<T>(0), total);
    };
  });
}

KernelFn direct_kernel_gradient(const KernelSpec& spec, const ConvSizes& sizes) {
  auto* device = &cohort::cuda::device_of(spec);
  return visit_floating(spec.output(0).dtype, [=](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    using C = Compute<T>;
    const std::int64_t elements = sizes.kernel_size(), pixels = sizes.outputs();
    if (elements == 0) return [](const KernelIO&) {};
    const std::int64_t wanted = std::min({kGradientThreads / elements, pixels / kFewestPixels, kMostParts,
                                          kPartsBytes / (elements * static_cast<std::int64_t>(sizeof(C)))});
    const std::int64_t parts = std::max<std::int64_t>(1, wanted), part_pixels = (pixels + parts - 1) / parts;
    if (parts == 1) {
      return [=](const KernelIO& io) {
        launch(kernel_gradient<T, T>, elements, *device, stream_of(io), sizes, io.in<T>(0), io.in<T>(1), io.out<T>(0),
               elements, parts, part_pixels, pixels);
      };
    }
    device->reserve_workspace(static_cast<std::size_t>(parts * elements) * sizeof(C));
    return [=](const KernelIO& io) {
      auto* sums = static_cast<C*>(device->workspace());
      launch(kernel_gradient<T, C>, elements * parts, *device, stream_of(io), sizes, io.in<T>(0), io.in<T>(1), sums,
             elements, parts, part_pixels, pixels);
      enqueue_sum_of_parts(static_cast<const C*>(sums), PartsTarget<T>{io.out<T>(0), elements}, parts, stream_of(io));
    };
  });
}

}  // namespace cohort::kernels::cuda
