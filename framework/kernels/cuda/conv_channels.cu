#include "cohort/kernels/cuda/conv_channels.h"

#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {
namespace {

using HalfWord = std::uint16_t;

template <int kWide>
void widen_pixels(const void* from, void* to, std::int64_t pixels, int channels, const cohort::cuda::CudaDevice& device,
                  cudaStream_t stream) {
  const auto* narrow = static_cast<const HalfWord*>(from);
  auto* wide = static_cast<Pack<HalfWord, kWide>*>(to);
  launch_each(pixels, device, stream, [=] __device__(std::int64_t i) {
    Pack<HalfWord, kWide> pixel;
#pragma unroll
    for (int c = 0; c < kWide; ++c) pixel.values[c] = c < channels ? narrow[i * channels + c] : HalfWord{0};
    wide[i] = pixel;
  });
}

}  // namespace

void enqueue_wide_pixels(const void* from, void* to, std::int64_t pixels, std::int64_t channels, std::int64_t wide,
                         const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  const auto widen = wide == 4 ? widen_pixels<4> : widen_pixels<8>;
  widen(from, to, pixels, static_cast<int>(channels), device, stream);
}

void enqueue_wide_filters(const void* from, void* to, std::int64_t taps, std::int64_t channels, std::int64_t wide,
                          std::int64_t filters, const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  const auto* source = static_cast<const HalfWord*>(from);
  auto* target = static_cast<HalfWord*>(to);
  launch_each(filters * taps * wide, device, stream, [=] __device__(std::int64_t i) {
    const std::int64_t row = i / wide, channel = i - row * wide, filter = row / taps, tap = row - filter * taps;
    target[i] = channel < channels ? source[(tap * channels + channel) * filters + filter] : HalfWord{0};
  });
}

void enqueue_narrow_filters(const void* from, void* to, std::int64_t taps, std::int64_t channels, std::int64_t wide,
                            std::int64_t filters, const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  const auto* source = static_cast<const HalfWord*>(from);
  auto* target = static_cast<HalfWord*>(to);
  launch_each(taps * channels * filters, device, stream, [=] __device__(std::int64_t i) {
    const std::int64_t row = i / filters, filter = i - row * filters, tap = row / channels;
    target[i] = source[(filter * taps + tap) * wide + row - tap * channels];
  });
}

}  // namespace cohort::kernels::cuda
