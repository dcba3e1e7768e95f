// Ops whose results are as large as their values say.
#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/flagged.h"
#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/row_order.h"

namespace cohort::kernels::cuda {
namespace {

// Whether an element of any type counts as true: what is not 0 as a float.
struct IsSet {
  const void* condition;
  DType dtype;

  __device__ bool operator()(std::int64_t i) const {
    switch (dtype) {
      case DType::Int32:
        return static_cast<const std::int32_t*>(condition)[i] != 0;
      case DType::Int64:
        return static_cast<const std::int64_t*>(condition)[i] != 0;
      case DType::Float16:
        return widened(static_cast<const __half*>(condition)[i]) != 0.0f;
      case DType::BFloat16:
        return widened(static_cast<const __nv_bfloat16*>(condition)[i]) != 0.0f;
      case DType::Float32:
        return static_cast<const float*>(condition)[i] != 0.0f;
      case DType::Float64:
        return static_cast<float>(static_cast<const double*>(condition)[i]) != 0.0f;
      default:
        return static_cast<const std::uint8_t*>(condition)[i] != 0;
    }
  }
};

struct WritePosition {
  int rank;
  BoundedDivider by_sizes[Shape::kMaxRank];
  std::int64_t* positions;

  __device__ void operator()(std::int64_t i, std::int64_t before, bool set) const {
    if (!set) return;
    for (int axis = rank - 1; axis >= 0; --axis) {
      std::int64_t index = i;
      i = by_sizes[axis].split(index);
      positions[before * rank + axis] = index;
    }
  }
};

KernelFn make_where(const KernelSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  cohort::cuda::CudaDevice& device = cohort::cuda::device_of(spec);
  WritePosition write{shape.rank(), {}, nullptr};
  for (int axis = 0; axis < shape.rank(); ++axis)
    write.by_sizes[axis] = BoundedDivider(shape[axis], spec.input_size(0));
  Pieces memory;
  const Flagged flagged(spec.input_size(0), memory);
  device.reserve_workspace(memory.bytes());
  return [=, dtype = spec.input(0).dtype, device = &device](const KernelIO& io) {
    void* workspace = device->workspace();
    const IsSet is_set{io.inputs[0], dtype};
    flagged.enqueue_count(workspace, stream_of(io), is_set);
    const std::int64_t found = flagged.total(workspace, stream_of(io));
    WritePosition here = write;
    here.positions = static_cast<std::int64_t*>(io.allocator->allocate(0, {found, here.rank}));
    if (found > 0) flagged.enqueue_each(workspace, stream_of(io), is_set, here);
  };
}

__device__ std::int64_t element_in(std::uint64_t word) { return static_cast<std::int64_t>(word & 0xffffffff); }

// Whether the i-th element in order differs from the one before it.
struct IsNew {
  OrderKey key;
  const void* x;
  const std::uint64_t* sorted;

  __device__ bool operator()(std::int64_t i) const {
    return i == 0 || key(x, element_in(sorted[i - 1])) != key(x, element_in(sorted[i]));
  }
};

struct WriteInverse {
  const std::uint64_t* sorted;
  std::int64_t* inverse;
  std::int64_t* first;  // where the elements of each value begin

  __device__ void operator()(std::int64_t i, std::int64_t before, bool is_new) const {
    if (is_new) first[before] = i;
    inverse[element_in(sorted[i])] = before + is_new - 1;
  }
};

// Of equal elements the last one is the value.
struct WriteValues {
  std::int64_t size, different;
  std::size_t bytes;
  const std::uint64_t* sorted;
  const std::int64_t* first;
  const void* x;
  void* values;
  std::int64_t* counts;

  __device__ void operator()(std::int64_t i) const {
    const std::int64_t end = i + 1 < different ? first[i + 1] : size;
    copy_element(bytes, x, element_in(sorted[end - 1]), values, i);
    counts[i] = end - first[i];
  }
};

KernelFn make_unique(const KernelSpec& spec) {
  const TensorSpec x = spec.input(0);
  const std::int64_t size = spec.input_size(0);
  const OrderKey key{x.dtype, false};
  cohort::cuda::CudaDevice& device = cohort::cuda::device_of(spec);
  Pieces memory;
  const RowOrder order(spec.name(), device, SortedRows(1, size, 1), key, memory);
  const Flagged flagged(size, memory);
  const std::size_t first_at = memory.add(static_cast<std::size_t>(size) * sizeof(std::int64_t));
  device.reserve_workspace(memory.bytes());
  return [=, device = &device](const KernelIO& io) {
    const cudaStream_t stream = stream_of(io);
    void* workspace = device->workspace();
    const std::uint64_t* sorted = order.sorted(workspace);
    auto* first = reinterpret_cast<std::int64_t*>(static_cast<char*>(workspace) + first_at);
    auto* inverse = static_cast<std::int64_t*>(io.allocator->allocate(1, x.shape));
    const IsNew is_new{key, io.inputs[0], sorted};
    order.enqueue(workspace, io.inputs[0], stream);
    flagged.enqueue_count(workspace, stream, is_new);
    flagged.enqueue_each(workspace, stream, is_new, WriteInverse{sorted, inverse, first});
    const std::int64_t different = flagged.total(workspace, stream);
    void* values = io.allocator->allocate(0, {different});
    auto* counts = static_cast<std::int64_t*>(io.allocator->allocate(2, {different}));
    launch_each(different, *device, stream,
                WriteValues{size, different, size_of(x.dtype), sorted, first, io.inputs[0], values, counts});
  };
}

COHORT_KERNEL("Where", kGPU, make_where);
COHORT_KERNEL("Unique", kGPU, make_unique);

}  // namespace
}  // namespace cohort::kernels::cuda
