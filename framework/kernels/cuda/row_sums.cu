#include "cohort/kernels/cuda/row_sums.h"

#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/index_math.h"

namespace cohort::kernels::cuda {
namespace {

// Large enough that few rows reach over chunks and that a row with all entries has few of them, small enough that there
// is work for all.
std::int64_t chunk_for(std::int64_t count) {
  std::int64_t chunk = 32;
  while (16 * chunk * chunk < count) chunk *= 2;
  return chunk;
}

// A thread's part of the work is kCount columns of a chunk.
struct ChunkWork {
  std::int64_t count, rows, width, chunk, chunks, values, threads;
  int log_entries_per_value;
  BoundedDivider by_packs, by_chunks;
};

struct ChunkPart {
  __device__ ChunkPart(const ChunkWork& work, std::int64_t thread, int columns) : column(thread) {
    outer_chunk = work.by_packs.split(column);
    column *= columns;
    chunk = outer_chunk;
    outer = work.by_chunks.split(chunk);
    begin = chunk * work.chunk;
    end = begin + work.chunk < work.count ? begin + work.chunk : work.count;
  }
  std::int64_t column, outer_chunk, chunk, outer, begin, end;
};

// Two places for the sums of a chunk that belong to a row of several: that of its first row, which another chunk began,
// and that of its last row, which it began itself.
enum Partial { kBegunBefore = 0, kBegunHere = 1 };

__device__ std::int64_t partial_at(const ChunkWork& work, std::int64_t outer_chunk, Partial which) {
  return (outer_chunk * 2 + which) * work.width;
}

template <class T, int kCount>
__device__ void write_row(T* to, const Pack<Compute<T>, kCount>& sum) {
  Pack<T, kCount> result;
#pragma unroll
  for (int k = 0; k < kCount; ++k) result.values[k] = narrowed<T>(sum.values[k]);
  *reinterpret_cast<Pack<T, kCount>*>(to) = result;
}

// Nothing, or what is in the row.
template <class T, int kCount>
__device__ Pack<Compute<T>, kCount> first_sum(const T* row) {
  Pack<Compute<T>, kCount> sum;
  if (row) {
    const auto values = *reinterpret_cast<const Pack<T, kCount>*>(row);
#pragma unroll
    for (int k = 0; k < kCount; ++k) sum.values[k] = widened(values.values[k]);
  } else {
#pragma unroll
    for (int k = 0; k < kCount; ++k) sum.values[k] = Compute<T>(0);
  }
  return sum;
}

template <class T, int kCount>
__device__ void add_value(Pack<Compute<T>, kCount>& sum, const Pack<T, kCount>& value, const float* weight) {
  using C = Compute<T>;
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    C term = widened(value.values[k]);
    if constexpr (std::is_floating_point_v<C>) {
      if (weight) term *= static_cast<C>(*weight);
    }
    sum.values[k] = static_cast<C>(sum.values[k] + term);
  }
}

template <class T, int kCount>
__global__ void __launch_bounds__(kBlock)
    sum_chunks(const ChunkWork work, const std::uint64_t* __restrict__ entries, const T* __restrict__ values,
               const float* __restrict__ weights, Compute<T>* __restrict__ partials, T* __restrict__ target,
               bool adds) {
  using C = Compute<T>;
  constexpr int kAhead = 4;
  if (adds && row_in(entries[work.count - 1]) == work.rows) return;
  COHORT_EACH(thread, work.threads) {
    const ChunkPart part(work, thread, kCount);
    const T* from = values + part.outer * work.values * work.width + part.column;
    T* to = target + part.outer * work.rows * work.width + part.column;

    std::int64_t row = row_in(entries[part.begin]);
    bool begun_before = part.begin > 0 && row_in(entries[part.begin - 1]) == row;
    auto sum = first_sum<T, kCount>(adds && !begun_before ? to + row * work.width : nullptr);
    const auto finish_row = [&](bool goes_on) {
      if (row == work.rows) return;
      if (begun_before || goes_on) {
        C* place = partials + partial_at(work, part.outer_chunk, begun_before ? kBegunBefore : kBegunHere);
        *reinterpret_cast<Pack<C, kCount>*>(place + part.column) = sum;
      } else {
        write_row<T, kCount>(to + row * work.width, sum);
      }
    };
    for (std::int64_t p = part.begin; p < part.end; p += kAhead) {
      std::uint64_t words[kAhead];
      Pack<T, kCount> next[kAhead];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        if (p + k >= part.end) continue;
        words[k] = entries[p + k];
        const std::int64_t value = entry_in(words[k]) >> work.log_entries_per_value;
        next[k] = *reinterpret_cast<const Pack<T, kCount>*>(from + value * work.width);
      }
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        if (p + k >= part.end) continue;
        if (row_in(words[k]) != row) {
          finish_row(false);
          row = row_in(words[k]);
          begun_before = false;
          sum = first_sum<T, kCount>(adds ? to + row * work.width : nullptr);
        }
        add_value<T, kCount>(sum, next[k], weights ? weights + entry_in(words[k]) : nullptr);
      }
    }
    finish_row(part.end < work.count && row_in(entries[part.end]) == row);
  }
}

// The chunk in which a row of several begins adds up the row's sums.
template <class T, int kCount>
__global__ void __launch_bounds__(kBlock)
    join_chunks(const ChunkWork work, const std::uint64_t* __restrict__ entries,
                const Compute<T>* __restrict__ partials, T* __restrict__ target, bool adds) {
  using Sum = Pack<Compute<T>, kCount>;
  if (adds && row_in(entries[work.count - 1]) == work.rows) return;
  COHORT_EACH(thread, work.threads) {
    const ChunkPart part(work, thread, kCount);
    if (part.end == work.count) continue;
    const std::int64_t row = row_in(entries[part.end]);
    if (row == work.rows || row_in(entries[part.end - 1]) != row) continue;
    if (part.begin > 0 && row_in(entries[part.begin - 1]) == row) continue;
    // The last chunk whose first entry is of the row.
    std::int64_t last = part.chunk + 1, beyond = work.chunks;
    while (beyond - last > 1) {
      const std::int64_t middle = (last + beyond) / 2;
      (row_in(entries[middle * work.chunk]) == row ? last : beyond) = middle;
    }
    const Compute<T>* here = partials + part.column;
    Sum sum = *reinterpret_cast<const Sum*>(here + partial_at(work, part.outer_chunk, kBegunHere));
    const Compute<T>* next = here + partial_at(work, part.outer_chunk + 1, kBegunBefore);
#pragma unroll 8
    for (std::int64_t chunk = part.chunk + 1; chunk <= last; ++chunk, next += 2 * work.width) {
      const Sum more = *reinterpret_cast<const Sum*>(next);
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        sum.values[k] = static_cast<Compute<T>>(sum.values[k] + more.values[k]);
      }
    }
    write_row<T, kCount>(target + (part.outer * work.rows + row) * work.width + part.column, sum);
  }
}

}  // namespace

RowSums::RowSums(const char* op, const cohort::cuda::CudaDevice& device, DType dtype, const RowSumSizes& sizes,
                 Pieces& memory)
    : device_(&device),
      dtype_(dtype),
      sizes_(sizes),
      chunk_(chunk_for(sizes.count)),
      chunks_((sizes.count + chunk_ - 1) / chunk_),
      entries_(op, device, sizes.count, sizes.rows, memory) {
  const std::int64_t partials = chunks_ > 1 ? sizes.outer * chunks_ * 2 * sizes.width : 0;
  partials_ = memory.add(static_cast<std::size_t>(partials) * std::max(size_of(dtype), sizeof(float)));
}

void RowSums::enqueue(void* memory, const void* values, void* target, cudaStream_t stream) const {
  enqueue_weighted(memory, values, nullptr, target, stream);
}

void RowSums::enqueue_weighted(void* memory, const void* values, const float* weights, void* target,
                               cudaStream_t stream) const {
  const std::int64_t bytes = sizes_.outer * sizes_.rows * sizes_.width * static_cast<std::int64_t>(size_of(dtype_));
  if (bytes > 0) cohort::cuda::check(cudaMemsetAsync(target, 0, static_cast<std::size_t>(bytes), stream));
  enqueue_sums(memory, values, weights, target, false, stream);
}

void RowSums::enqueue_added(void* memory, const void* values, void* target, cudaStream_t stream) const {
  enqueue_sums(memory, values, nullptr, target, true, stream);
}

void RowSums::enqueue_sums(void* memory, const void* values, const float* weights, void* target, bool adds,
                           cudaStream_t stream) const {
  visit_summed(dtype_, [&](auto type) {
    using T = typename decltype(type)::type;
    constexpr int kCount = kPerAccess<T>;
    if (sizes_.width % kCount == 0 && both_aligned(kAccessBytes, values, target)) {
      launch<T, kCount>(memory, values, weights, target, adds, stream);
    } else {
      launch<T, 1>(memory, values, weights, target, adds, stream);
    }
  });
}

template <class T, int kCount>
void RowSums::launch(void* memory, const void* values, const float* weights, void* target, bool adds,
                     cudaStream_t stream) const {
  const std::int64_t packs = sizes_.width / kCount, threads = sizes_.outer * chunks_ * packs;
  if (threads == 0) return;
  const ChunkWork work{sizes_.count,
                       sizes_.rows,
                       sizes_.width,
                       chunk_,
                       chunks_,
                       sizes_.count >> sizes_.log_entries_per_value,
                       threads,
                       sizes_.log_entries_per_value,
                       BoundedDivider(packs, threads),
                       BoundedDivider(chunks_, threads)};
  const std::uint64_t* entries = entries_.sorted(memory);
  auto* partials = reinterpret_cast<Compute<T>*>(static_cast<char*>(memory) + partials_);
  auto* to = static_cast<T*>(target);
  const int blocks = blocks_for(threads, *device_);
  sum_chunks<T, kCount>
      <<<blocks, kBlock, 0, stream>>>(work, entries, static_cast<const T*>(values), weights, partials, to, adds);
  cohort::cuda::check(cudaGetLastError());
  if (chunks_ == 1) return;
  join_chunks<T, kCount><<<blocks, kBlock, 0, stream>>>(work, entries, partials, to, adds);
  cohort::cuda::check(cudaGetLastError());
}

}  // namespace cohort::kernels::cuda
