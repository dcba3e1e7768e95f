#include "cohort/kernels/affine_sample.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/row_sums.h"

namespace cohort::kernels::cuda {
namespace {

template <class T>
struct Transform {
  AffinePlan plan;
  BoundedDivider by_channels, by_width, by_height;
  const T* x;
  const float* transforms;
  T* y;

  __device__ void operator()(std::int64_t i) const {
    using C = Compute<T>;
    std::int64_t channel = i;
    std::int64_t col = by_channels.split(channel);
    std::int64_t row = by_width.split(col);
    const std::int64_t image = by_height.split(row);
    const AffineSample sample = sample_at(plan, transforms + image * plan.transform_step, row, col);
    const T* from = x + image * plan.image() + channel;
    C pixel = 0;
    for (int k = 0; k < sample.count; ++k) {
      const std::int64_t offset = sample.offsets[k];
      pixel +=
          static_cast<C>(sample.weights[k]) * (offset < 0 ? static_cast<C>(plan.fill_value) : widened(from[offset]));
    }
    y[i] = narrowed<T>(pixel);
  }
};

KernelFn make_affine_transform(const KernelSpec& spec) {
  const AffinePlan plan(spec);
  const std::int64_t n = spec.output_size(0);
  const BoundedDivider by_channels(plan.channels, n), by_width(plan.width, n), by_height(plan.height, n);
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_floating(spec.input(0).dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return [=](const KernelIO& io) {
      launch_each(n, *device, stream_of(io),
                  Transform<T>{plan, by_channels, by_width, by_height, io.in<T>(0), io.in<float>(1), io.out<T>(0)});
    };
  });
}

// The pixel that an entry flows to: each pixel of dy has an entry for each pixel that its output was read from. The
// entry's weight is written on the way.
struct SampledPixel {
  AffinePlan plan;
  BoundedDivider by_width, by_height;
  int log_entries;
  const float* transforms;
  float* weights;

  __device__ std::int64_t operator()(std::int64_t entry) const {
    std::int64_t col = entry >> log_entries;
    std::int64_t row = by_width.split(col);
    const std::int64_t image = by_height.split(row);
    const AffineSample sample = sample_at(plan, transforms + image * plan.transform_step, row, col);
    const auto which = static_cast<int>(entry & ((1 << log_entries) - 1));
    if (which >= sample.count || sample.offsets[which] < 0) {
      weights[entry] = 0.0f;
      return -1;
    }
    weights[entry] = sample.weights[which];
    return image * plan.height * plan.width + sample.offsets[which] / plan.channels;
  }
};

// Some images at a time.
struct ImageGroup {
  ImageGroup(const KernelSpec& spec, const AffinePlan& plan, int log_entries, std::int64_t images)
      : images(images),
        entries(images * plan.height * plan.width << log_entries),
        sums(spec.name(), cohort::cuda::device_of(spec), spec.output(0).dtype,
             {entries, images * plan.height * plan.width, plan.channels, 1, log_entries}, memory),
        weights_at(memory.add(static_cast<std::size_t>(entries) * sizeof(float))) {}

  std::int64_t images, entries;
  Pieces memory;
  RowSums sums;
  std::size_t weights_at;
};

KernelFn make_affine_transform_grad(const KernelSpec& spec) {
  constexpr std::int64_t kEntriesAtATime = 1 << 21;
  const AffinePlan plan(spec);
  if (spec.output_size(0) == 0) return [](const KernelIO&) {};
  cohort::cuda::CudaDevice& device = cohort::cuda::device_of(spec);
  const int log_entries = plan.bilinear ? 2 : 0;
  const std::int64_t entries_of_image = plan.height * plan.width << log_entries;
  const std::int64_t images = std::clamp<std::int64_t>(kEntriesAtATime / entries_of_image, 1, plan.batch);
  const ImageGroup full(spec, plan, log_entries, images), rest(spec, plan, log_entries, plan.batch % images);
  device.reserve_workspace(std::max(full.memory.bytes(), rest.memory.bytes()));
  const BoundedDivider by_width(plan.width, full.entries), by_height(plan.height, full.entries);
  const std::int64_t image_bytes = plan.image() * static_cast<std::int64_t>(size_of(spec.output(0).dtype));
  return [=, device = &device](const KernelIO& io) {
    void* workspace = device->workspace();
    for (std::int64_t first = 0; first < plan.batch; first += images) {
      const ImageGroup& group = plan.batch - first < images ? rest : full;
      auto* weights = reinterpret_cast<float*>(static_cast<char*>(workspace) + group.weights_at);
      const float* transforms = io.in<float>(1) + first * plan.transform_step;
      group.sums.entries().enqueue(workspace, stream_of(io),
                                   SampledPixel{plan, by_width, by_height, log_entries, transforms, weights});
      group.sums.enqueue_weighted(workspace, io.in<char>(0) + first * image_bytes, weights,
                                  io.out<char>(0) + first * image_bytes, stream_of(io));
    }
  };
}

COHORT_KERNEL("AffineTransform", kGPU, make_affine_transform);
COHORT_KERNEL("AffineTransformGrad", kGPU, make_affine_transform_grad);

}  // namespace
}  // namespace cohort::kernels::cuda
