#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/flagged.h"
#include "cohort/kernels/cuda/index_math.h"

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
  Divider by_sizes[Shape::kMaxRank];
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
  for (int axis = 0; axis < shape.rank(); ++axis) write.by_sizes[axis] = Divider(shape[axis], spec.input_size(0));
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

COHORT_KERNEL("Where", kGPU, make_where);

}  // namespace
}  // namespace cohort::kernels::cuda
