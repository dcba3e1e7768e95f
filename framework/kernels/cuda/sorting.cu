#include "cohort/kernels/cuda/block_sort.h"
#include "cohort/kernels/cuda/row_order.h"

namespace cohort::kernels::cuda {
namespace {

// An element as a block sorts it: by its key, equal ones by their place.
struct NarrowKey {  // of at most 32 bits
  static constexpr int kMost = 4096;
  std::uint64_t bits;

  NarrowKey() = default;
  __device__ NarrowKey(std::uint64_t key, std::int64_t place) : bits(key << 32 | static_cast<std::uint64_t>(place)) {}
  __device__ static NarrowKey last() { return {0xffffffff, 0xffffffff}; }
  __device__ int place() const { return static_cast<int>(bits & 0xffffffff); }
  __device__ bool operator<(const NarrowKey& other) const { return bits < other.bits; }
};

struct WideKey {
  static constexpr int kMost = 2048;
  std::uint64_t key;
  std::uint32_t at;

  WideKey() = default;
  __device__ WideKey(std::uint64_t key, std::int64_t place) : key(key), at(static_cast<std::uint32_t>(place)) {}
  __device__ static WideKey last() { return {~std::uint64_t{0}, 0xffffffff}; }
  __device__ int place() const { return static_cast<int>(at); }
  __device__ bool operator<(const WideKey& other) const {
    return key < other.key || (key == other.key && at < other.at);
  }
};

struct Selection {
  SortedRows rows;
  OrderKey key;
  std::int64_t k;     // how many elements of each row are wanted
  int capacity;       // how many a block holds, a power of two
  std::size_t bytes;  // of an element

  __device__ bool whole_row() const { return rows.count <= capacity; }
};

// Elements that a thread looks at before the block looks at how many were kept.
constexpr int kPerThread = 2;

// Puts the first k elements of a row in order. A block holds the best it has seen and whatever comes before the k-th of
// them; when it is full, it sorts and keeps k.
template <class Key>
__global__ void select_first(const Selection selection, const void* x, void* values, std::int32_t* indices) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ int filled;
  Key* held = reinterpret_cast<Key*>(memory);
  const auto thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int per_round = threads * kPerThread;
  const auto sort_held = [&](int size) {
    int padded = 1;
    while (padded < size) padded *= 2;
    for (int i = size + thread; i < padded; i += threads) held[i] = Key::last();
    __syncthreads();
    block_sort(held, padded);
  };
  const std::int64_t count = selection.rows.count;
  for (std::int64_t row = blockIdx.x; row < selection.rows.rows; row += gridDim.x) {
    const std::int64_t start = selection.rows.start(row, count);
    // A row that fits is taken as it is.
    for (std::int64_t place = thread; selection.whole_row() && place < count; place += threads) {
      held[place] = Key(selection.key(x, start + place * selection.rows.inner), place);
    }
    if (thread == 0) filled = selection.whole_row() ? static_cast<int>(count) : 0;
    __syncthreads();
    Key bound = Key::last();
    for (std::int64_t round = 0; !selection.whole_row() && round < count; round += per_round) {
      for (int k = 0; k < kPerThread; ++k) {
        const std::int64_t place = round + k * threads + thread;
        if (place >= count) break;
        const Key own(selection.key(x, start + place * selection.rows.inner), place);
        if (own < bound) held[atomicAdd(&filled, 1)] = own;
      }
      __syncthreads();
      const int now = filled;
      const std::int64_t rest = count - round - per_round;
      __syncthreads();
      if (now + (rest < per_round ? rest : per_round) <= selection.capacity) continue;
      sort_held(now);
      bound = held[selection.k - 1];
      if (thread == 0) filled = static_cast<int>(selection.k);
      __syncthreads();
    }
    sort_held(filled);
    const std::int64_t result = selection.rows.start(row, selection.k);
    for (std::int64_t j = thread; j < selection.k; j += threads) {
      const std::int64_t to = result + j * selection.rows.inner, place = held[j].place();
      copy_element(selection.bytes, x, start + place * selection.rows.inner, values, to);
      indices[to] = static_cast<std::int32_t>(place);
    }
    __syncthreads();
  }
}

template <class Key>
KernelFn select_in_blocks(const Selection& selection) {
  constexpr std::int64_t kMostBlocks = 1 << 16;
  const int threads = std::clamp(selection.capacity / (2 * kPerThread), 32, 1024);
  const auto blocks = static_cast<int>(std::min(selection.rows.rows, kMostBlocks));
  const std::size_t memory = static_cast<std::size_t>(selection.capacity) * sizeof(Key);
  return [=](const KernelIO& io) {
    select_first<Key>
        <<<blocks, threads, memory, stream_of(io)>>>(selection, io.inputs[0], io.outputs[0], io.out<std::int32_t>(1));
    cohort::cuda::check(cudaGetLastError());
  };
}

void launch_ordered(const Selection& selection, const std::uint64_t* sorted, const void* x, void* values,
                    std::int32_t* indices, const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  const std::int64_t n = selection.rows.rows * selection.k;
  const BoundedDivider by_k(selection.k, n);
  launch_each(n, device, stream, [=] __device__(std::int64_t i) {
    const SortedRows& rows = selection.rows;
    const std::int64_t row = by_k.split(i);
    const std::int64_t first = row * rows.count;
    const std::int64_t place = static_cast<std::int64_t>(sorted[first + i] & 0xffffffff) - first;
    const std::int64_t to = rows.start(row, selection.k) + i * rows.inner;
    copy_element(selection.bytes, x, rows.start(row, rows.count) + place * rows.inner, values, to);
    indices[to] = static_cast<std::int32_t>(place);
  });
}

KernelFn select_by_radix_sort(const KernelSpec& spec, const Selection& selection) {
  cohort::cuda::CudaDevice& device = cohort::cuda::device_of(spec);
  Pieces memory;
  const RowOrder order(spec.name(), device, selection.rows, selection.key, memory);
  device.reserve_workspace(memory.bytes());
  return [=, device = &device](const KernelIO& io) {
    void* workspace = device->workspace();
    order.enqueue(workspace, io.inputs[0], stream_of(io));
    launch_ordered(selection, order.sorted(workspace), io.inputs[0], io.outputs[0], io.out<std::int32_t>(1), *device,
                   stream_of(io));
  };
}

KernelFn select_first_of_rows(const KernelSpec& spec, const SortedRows& rows, bool descending, std::int64_t k) {
  const DType dtype = spec.input(0).dtype;
  if (rows.rows == 0 || k == 0) return [](const KernelIO&) {};
  Selection selection{rows, {dtype, descending}, k, 0, size_of(dtype)};
  const bool narrow = selection.bytes <= 4;
  const int most = narrow ? NarrowKey::kMost : WideKey::kMost;
  // One block is slow to read a long row; it pays where others read other rows meanwhile, or the row is not that long.
  constexpr std::int64_t kLong = 1 << 16;
  const bool many = rows.rows >= cohort::cuda::device_of(spec).multiprocessors();
  if (rows.count > most && (k > most / 2 || (rows.count > kLong && !many)))
    return select_by_radix_sort(spec, selection);
  selection.capacity = rows.count > most ? most : power_of_two_for(rows.count);
  return narrow ? select_in_blocks<NarrowKey>(selection) : select_in_blocks<WideKey>(selection);
}

KernelFn make_sort(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), shape.rank(), spec.name());
  const SortedRows rows(shape.slice(0, axis).num_elements(), shape[axis], shape.slice(axis + 1).num_elements());
  return select_first_of_rows(spec, rows, spec.attr<bool>("descending"), rows.count);
}

KernelFn make_top_k(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const SortedRows rows(shape.slice(0, shape.rank() - 1).num_elements(), shape.back(), 1);
  return select_first_of_rows(spec, rows, true, spec.output(0).shape.back());
}

COHORT_KERNEL("Sort", kGPU, make_sort);
COHORT_KERNEL("TopK", kGPU, make_top_k);

}  // namespace
}  // namespace cohort::kernels::cuda
