#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/places.h"
#include "cohort/kernels/cuda/row_words.h"

namespace cohort::kernels::cuda {
namespace {

// params [outer, rows, ..] and `count` entries that name rows -> [outer, count, ..].
struct GatherPlan {
  GatherPlan(const KernelSpec& spec, std::int64_t outer, const Places& places, std::int64_t inner)
      : device(&cohort::cuda::device_of(spec)), outer(outer), inner(inner), places(places) {}

  const cohort::cuda::CudaDevice* device;
  std::int64_t outer, inner;
  Places places;
};

template <class Word>
void launch_gather(const GatherPlan& plan, std::int64_t words, const void* params, const void* indices, void* result,
                   cudaStream_t stream) {
  const auto* from = static_cast<const Word*>(params);
  auto* to = static_cast<Word*>(result);
  const std::int64_t n = plan.outer * plan.places.count * words;
  const BoundedDivider by_words(words, n), by_count(plan.places.count, n);
  launch_each(n, *plan.device, stream, [=, places = plan.places] __device__(std::int64_t i) {
    std::int64_t word = i;
    std::int64_t entry = by_words.split(word);
    const std::int64_t outer = by_count.split(entry);
    const std::int64_t row = places.find(indices, entry);
    if (row >= 0) to[i] = from[(outer * places.rows + row) * words + word];
  });
}

// The same from float32 to a half type, kCount elements at a time.
template <class T, int kCount>
void launch_rounded_gather(const GatherPlan& plan, const void* params, const void* indices, void* result,
                           cudaStream_t stream) {
  const auto* from = static_cast<const Pack<float, kCount>*>(params);
  auto* to = static_cast<Pack<T, kCount>*>(result);
  const std::int64_t words = plan.inner / kCount, n = plan.outer * plan.places.count * words;
  const BoundedDivider by_words(words, n), by_count(plan.places.count, n);
  launch_each(n, *plan.device, stream, [=, places = plan.places] __device__(std::int64_t i) {
    std::int64_t word = i;
    std::int64_t entry = by_words.split(word);
    const std::int64_t outer = by_count.split(entry);
    const std::int64_t row = places.find(indices, entry);
    if (row < 0) return;
    const Pack<float, kCount> values = from[(outer * places.rows + row) * words + word];
    Pack<T, kCount> rounded;
#pragma unroll
    for (int k = 0; k < kCount; ++k) rounded.values[k] = narrowed<T>(values.values[k]);
    to[i] = rounded;
  });
}

template <class T>
KernelFn rounded_gather(const GatherPlan& plan) {
  constexpr int kCount = kAccessBytes / static_cast<int>(sizeof(T));
  return [plan](const KernelIO& io) {
    const bool packed =
        plan.inner % kCount == 0 && both_aligned(sizeof(Pack<float, kCount>), io.inputs[0], io.outputs[0]);
    const auto launch = packed ? launch_rounded_gather<T, kCount> : launch_rounded_gather<T, 1>;
    launch(plan, io.inputs[0], io.inputs[1], io.outputs[0], stream_of(io));
  };
}

KernelFn gather_rows(const GatherPlan& plan, DType dtype) {
  const std::size_t bytes = size_of(dtype);
  return [plan, rows = RowWords(plan.inner * static_cast<std::int64_t>(bytes), bytes)](const KernelIO& io) {
    rows.visit(io.inputs[0], io.outputs[0], [&](auto type, std::int64_t words) {
      using Word = typename decltype(type)::type;
      launch_gather<Word>(plan, words, io.inputs[0], io.inputs[1], io.outputs[0], stream_of(io));
    });
  };
}

KernelFn make_gather(const KernelSpec& spec) {
  const Shape& params = spec.input(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), params.rank(), spec.name());
  const GatherPlan plan(spec, params.slice(0, axis).num_elements(), Places(spec, params[axis], spec.input(1)),
                        params.slice(axis + 1).num_elements());
  const DType result = spec.output(0).dtype;
  if (result == spec.input(0).dtype) return gather_rows(plan, result);
  return result == DType::Float16 ? rounded_gather<__half>(plan) : rounded_gather<__nv_bfloat16>(plan);
}

KernelFn make_gather_nd(const KernelSpec& spec) {
  const Shape& params = spec.input(0).shape;
  const Places places(spec, params, spec.input(1));
  return gather_rows(GatherPlan(spec, 1, places, params.slice(places.depth).num_elements()), spec.input(0).dtype);
}

// x [outer, size, inner] and indices [outer, count, inner]: each position picks along the middle axis.
struct TakePlan {
  TakePlan(const KernelSpec& spec, int axis)
      : device(&cohort::cuda::device_of(spec)),
        n(spec.output_size(0)),
        inner(spec.input(0).shape.slice(axis + 1).num_elements()),
        by_inner(inner, n),
        by_block(spec.input(1).shape[axis] * inner, n),
        places(spec, spec.input(0).shape[axis], spec.input(1)) {}

  const cohort::cuda::CudaDevice* device;
  std::int64_t n, inner;
  BoundedDivider by_inner, by_block;
  Places places;
};

template <class Word>
void launch_take(const TakePlan& plan, const Word* from, const void* indices, Word* to, cudaStream_t stream) {
  launch_each(plan.n, *plan.device, stream, [=] __device__(std::int64_t i) {
    const std::int64_t index = plan.places.find(indices, i);
    if (index < 0) return;
    to[i] = from[(plan.by_block.divide(i) * plan.places.rows + index) * plan.inner + plan.by_inner.remainder(i)];
  });
}

KernelFn make_take_along_axis(const KernelSpec& spec) {
  const TakePlan plan(spec, normalize_axis(spec.attr<int>("axis"), spec.input(0).shape.rank(), spec.name()));
  return visit_bytes(size_of(spec.input(0).dtype), [&](auto type) -> KernelFn {
    using Word = typename decltype(type)::type;
    return [plan](const KernelIO& io) {
      launch_take<Word>(plan, io.in<Word>(0), io.inputs[1], io.out<Word>(0), stream_of(io));
    };
  });
}

// The bits of 1 in a type.
std::uint64_t bits_of_one(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return 0x3c00;
    case DType::BFloat16:
      return 0x3f80;
    case DType::Float32:
      return 0x3f800000;
    case DType::Float64:
      return 0x3ff0000000000000;
    default:
      return 1;
  }
}

// indices [outer, inner] -> [outer, depth, inner], kCount neighbours at a time.
template <class Word, int kCount>
void launch_one_hot(std::int64_t n, std::int64_t depth, std::int64_t inner, Word one, Indices indices, void* result,
                    const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  auto* to = static_cast<Pack<Word, kCount>*>(result);
  const BoundedDivider by_inner(inner, n), by_depth(depth, n);
  launch_each(n / kCount, device, stream, [=] __device__(std::int64_t i) {
    std::int64_t column = i * kCount;
    std::int64_t level = by_inner.split(column);
    std::int64_t outer = by_depth.split(level);
    Pack<Word, kCount> out;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      out.values[k] = indices[outer * inner + column] == level ? one : Word(0);
      if (++column < inner) continue;
      column = 0;
      if (++level < depth) continue;
      level = 0;
      if (k + 1 < kCount) ++outer;
    }
    to[i] = out;
  });
}

KernelFn make_one_hot(const KernelSpec& spec) {
  const Shape& to = spec.output(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), to.rank(), spec.name());
  const std::int64_t n = spec.output_size(0), depth = to[axis], inner = to.slice(axis + 1).num_elements();
  const DType index_type = spec.input(0).dtype;
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_bytes(size_of(spec.output(0).dtype), [&](auto type) -> KernelFn {
    using Word = typename decltype(type)::type;
    constexpr int kCount = kAccessBytes / static_cast<int>(sizeof(Word));
    return [=, one = static_cast<Word>(bits_of_one(spec.output(0).dtype))](const KernelIO& io) {
      const bool packed = n % kCount == 0 && is_aligned(io.outputs[0]);
      const auto launch = packed ? launch_one_hot<Word, kCount> : launch_one_hot<Word, 1>;
      launch(n, depth, inner, one, {io.inputs[0], index_type}, io.outputs[0], *device, stream_of(io));
    };
  });
}

COHORT_KERNEL("Gather", kGPU, make_gather);
COHORT_KERNEL("GatherNd", kGPU, make_gather_nd);
COHORT_KERNEL("TakeAlongAxis", kGPU, make_take_along_axis);
COHORT_KERNEL("OneHot", kGPU, make_one_hot);

}  // namespace
}  // namespace cohort::kernels::cuda
