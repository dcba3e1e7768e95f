#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/philox.h"

namespace cohort::kernels::cuda {
namespace {

// Integers truncate a number, bool asks whether it is not zero.
template <class T>
__device__ T number_as(float value) {
  if constexpr (std::is_floating_point_v<Compute<T>>) {
    return narrowed<T>(static_cast<Compute<T>>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0.0f;
  } else {
    return static_cast<T>(value);
  }
}

// Writes the four numbers that `numbers(source, row, group, values)` makes for each group.
template <class T, class Numbers>
struct WriteNumbers {
  T* out;
  std::int64_t size;
  bool packed;
  Numbers numbers;

  __device__ void operator()(const RandomSource& source, std::int64_t row, std::int64_t group) const {
    float values[kInGroup];
    numbers(source, row, group, values);
    T* to = out + row * size + kInGroup * group;
    if (packed) {
      Pack<T, kInGroup> pack;
#pragma unroll
      for (int i = 0; i < kInGroup; ++i) pack.values[i] = number_as<T>(values[i]);
      *reinterpret_cast<Pack<T, kInGroup>*>(to) = pack;
      return;
    }
#pragma unroll
    for (int i = 0; i < kInGroup; ++i) {
      if (kInGroup * group + i < size) to[i] = number_as<T>(values[i]);
    }
  }
};

template <class Numbers>
KernelFn numbers_from(const KernelSpec& spec, const Numbers& numbers) {
  const RandomGroups groups(spec.output(0).shape, kInGroup);
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_plain(spec.output(0).dtype, [=, seed = random_seed_of(spec)](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return [=](const KernelIO& io) {
      T* out = io.out<T>(0);
      const bool packed =
          groups.size % kInGroup == 0 && reinterpret_cast<std::uintptr_t>(out) % sizeof(Pack<T, kInGroup>) == 0;
      launch_random_groups(groups, io, seed, *device, WriteNumbers<T, Numbers>{out, groups.size, packed, numbers});
    };
  });
}

struct Uniforms {
  float low, range;
  __device__ void operator()(const RandomSource& source, std::int64_t row, std::int64_t group,
                             float (&values)[kInGroup]) const {
    const RandomWords words = source.block(row, static_cast<std::uint64_t>(group));
#pragma unroll
    for (int i = 0; i < kInGroup; ++i) values[i] = low + range * to_unit_float(words[i]);
  }
};

struct Bernoullis {
  float probability;
  __device__ void operator()(const RandomSource& source, std::int64_t row, std::int64_t group,
                             float (&values)[kInGroup]) const {
    const RandomWords words = source.block(row, static_cast<std::uint64_t>(group));
#pragma unroll
    for (int i = 0; i < kInGroup; ++i) values[i] = to_unit_float(words[i]) < probability ? 1.0f : 0.0f;
  }
};

struct Normals {
  float mean, stddev;
  __device__ void operator()(const RandomSource& source, std::int64_t row, std::int64_t group,
                             float (&values)[kInGroup]) const {
    to_normals(source.block(row, static_cast<std::uint64_t>(group)), values);
#pragma unroll
    for (int i = 0; i < kInGroup; ++i) values[i] = mean + stddev * values[i];
  }
};

struct TruncatedNormals {
  static constexpr float kLimit = 2.0f;
  float mean, stddev;
  __device__ void operator()(const RandomSource& source, std::int64_t row, std::int64_t group,
                             float (&values)[kInGroup]) const {
    to_normals(source.block(row, static_cast<std::uint64_t>(group)), values);
    // What lies too far out is replaced from blocks that no other element reads.
    for (std::uint64_t attempt = 1; attempt < 64 && any_far(values); ++attempt) {
      float fresh[kInGroup];
      to_normals(source.block(row, static_cast<std::uint64_t>(group) + (attempt << 40)), fresh);
#pragma unroll
      for (int i = 0; i < kInGroup; ++i) {
        if (is_far(values[i])) values[i] = fresh[i];
      }
    }
#pragma unroll
    for (int i = 0; i < kInGroup; ++i) values[i] = mean + stddev * fminf(fmaxf(values[i], -kLimit), kLimit);
  }
  static __device__ bool is_far(float value) { return fabsf(value) > kLimit; }
  static __device__ bool any_far(const float (&values)[kInGroup]) {
    return is_far(values[0]) || is_far(values[1]) || is_far(values[2]) || is_far(values[3]);
  }
};

// Two elements of 64 random bits a block.
template <class T>
struct WriteIntegers {
  T* out;
  std::int64_t size, first;
  std::uint64_t range;
  __device__ void operator()(const RandomSource& source, std::int64_t row, std::int64_t group) const {
    const RandomWords words = source.block(row, static_cast<std::uint64_t>(group));
    const std::int64_t at = 2 * group;
    T* to = out + row * size + at;
    to[0] = integer(words[0], words[1]);
    if (at + 1 < size) to[1] = integer(words[2], words[3]);
  }
  __device__ T integer(std::uint32_t high, std::uint32_t low) const {
    return static_cast<T>(first + static_cast<std::int64_t>(random_below(range, high, low)));
  }
};

KernelFn uniform_integers(const KernelSpec& spec) {
  const RandomGroups groups(spec.output(0).shape, 2);
  const auto first = static_cast<std::int64_t>(spec.attr<double>("minval"));
  const auto range = static_cast<std::uint64_t>(static_cast<std::int64_t>(spec.attr<double>("maxval")) - first);
  const auto* device = &cohort::cuda::device_of(spec);
  return visit_index(spec.output(0).dtype, [=, seed = random_seed_of(spec)](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return [=](const KernelIO& io) {
      launch_random_groups(groups, io, seed, *device, WriteIntegers<T>{io.out<T>(0), groups.size, first, range});
    };
  });
}

KernelFn make_uniform(const KernelSpec& spec) {
  if (is_integer(spec.output(0).dtype)) return uniform_integers(spec);
  const auto low = spec.attr<float>("minval");
  return numbers_from(spec, Uniforms{low, spec.attr<float>("maxval") - low});
}

KernelFn make_normal(const KernelSpec& spec) {
  return numbers_from(spec, Normals{spec.attr<float>("mean"), spec.attr<float>("stddev")});
}

KernelFn make_truncated_normal(const KernelSpec& spec) {
  return numbers_from(spec, TruncatedNormals{spec.attr<float>("mean"), spec.attr<float>("stddev")});
}

KernelFn make_bernoulli(const KernelSpec& spec) {
  return numbers_from(spec, Bernoullis{spec.attr<float>("probability")});
}

// Elements that a permutation keeps in shared memory while it is made.
constexpr int kMostShared = 10240;

// Fisher and Yates's shuffle: each exchange needs the one before it, so a single thread does them. The rest of the
// block draws their numbers ahead.
template <class Index>
__device__ void exchange_all(Index* order, std::int64_t count, const RandomSource& source) {
  __shared__ std::int64_t targets[kBlock];
  for (std::int64_t last = count - 1; last > 0; last -= kBlock) {
    const std::int64_t own = last - threadIdx.x;
    if (own > 0) {
      const RandomWords words = source.block(0, static_cast<std::uint64_t>(own));
      targets[threadIdx.x] =
          static_cast<std::int64_t>(random_below(static_cast<std::uint64_t>(own) + 1, words[0], words[1]));
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (std::int64_t i = last; i > 0 && i > last - kBlock; --i) {
        const std::int64_t target = targets[last - i];
        const Index moved = order[i];
        order[i] = order[target];
        order[target] = moved;
      }
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kBlock)
    permute(std::int64_t* order, std::int64_t count, const RandomState* state, std::uint64_t seed) {
  __shared__ std::int32_t near_order[kMostShared];
  const RandomSource source(*state, seed);
  const bool is_near = count <= kMostShared;
  for (std::int64_t i = threadIdx.x; i < count; i += kBlock) {
    if (is_near) {
      near_order[i] = static_cast<std::int32_t>(i);
    } else {
      order[i] = i;
    }
  }
  __syncthreads();
  if (!is_near) return exchange_all(order, count, source);
  exchange_all(near_order, count, source);
  for (std::int64_t i = threadIdx.x; i < count; i += kBlock) order[i] = near_order[i];
}

KernelFn make_permutation(const KernelSpec& spec) {
  return [count = spec.output_size(0), seed = random_seed_of(spec)](const KernelIO& io) {
    if (count == 0) return;
    permute<<<1, kBlock, 0, stream_of(io)>>>(io.out<std::int64_t>(0), count, io.random, seed);
    cohort::cuda::check(cudaGetLastError());
  };
}

COHORT_KERNEL("RandomUniform", kGPU, make_uniform);
COHORT_KERNEL("RandomUniformLike", kGPU, make_uniform);
COHORT_KERNEL("RandomNormal", kGPU, make_normal);
COHORT_KERNEL("RandomNormalLike", kGPU, make_normal);
COHORT_KERNEL("TruncatedNormal", kGPU, make_truncated_normal);
COHORT_KERNEL("TruncatedNormalLike", kGPU, make_truncated_normal);
COHORT_KERNEL("Bernoulli", kGPU, make_bernoulli);
COHORT_KERNEL("BernoulliLike", kGPU, make_bernoulli);
COHORT_KERNEL("RandomPermutationLike", kGPU, make_permutation);

}  // namespace
}  // namespace cohort::kernels::cuda
