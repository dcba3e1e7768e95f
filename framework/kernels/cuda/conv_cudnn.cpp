#include "cohort/kernels/cuda/conv_cudnn.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cohort/core/op_determinism.h"
#include "cohort/core/tensor_float_32.h"
#include "cohort/cuda/cudnn_plan.h"
#include "cohort/kernels/cuda/conv_cells.h"
#include "cohort/kernels/cuda/matrix_transpose.h"

namespace cohort::kernels::cuda {
namespace {

using cohort::cuda::CudnnDescriptor;
using cohort::cuda::CudnnPlan;

constexpr std::int64_t kMostWorkspace = std::int64_t{512} << 20;
constexpr std::int64_t kImage = 1, kKernel = 2, kOutput = 3;  // ids of the tensors
constexpr std::size_t kPlaces = 256;                          // that memory is aligned to

using Four = std::array<std::int64_t, 4>;

// Sizes (n, c, h, w), whose elements lie in the order n, h, w, c.
CudnnDescriptor channels_last(std::int64_t id, cudnnDataType_t type, const Four& sizes) {
  const auto [n, c, h, w] = sizes;
  return cohort::cuda::cudnn_tensor(id, type, sizes, Four{c * h * w, 1, w * c, c});
}

// Padding behind the last input, so that there are as many outputs as there should be.
std::int64_t padding_after(const ConvWindow& axis) {
  const std::int64_t reach = (axis.outputs - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1;
  return std::max<std::int64_t>(0, reach - axis.inputs - axis.before);
}

CudnnDescriptor describe_windows(const ConvSizes& sizes) {
  const ConvWindow &height = sizes.axes[1], &width = sizes.axes[2];
  using Two = std::array<std::int64_t, 2>;
  const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  CudnnDescriptor windows(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  windows.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
  windows.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  windows.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
  windows.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, Two{height.before, width.before});
  windows.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, Two{padding_after(height), padding_after(width)});
  windows.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, Two{height.stride, width.stride});
  windows.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, Two{height.dilation, width.dilation});
  windows.finalize();
  return windows;
}

// How cuDNN names an operation and its parts.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t image, kernel, output, windows, alpha, beta;
};
OperationNames names_of(ConvResult result) {
  switch (result) {
    case ConvResult::Output:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvResult::InputGradient:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

cudnnDataType_t library_type(DType dtype) {
  if (dtype == DType::Float16) return CUDNN_DATA_HALF;
  return dtype == DType::BFloat16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

std::optional<CudnnPlan> make_plan(const cohort::cuda::CudaDevice& device, const ConvSizes& sizes, DType dtype,
                                   ConvResult result) {
  const ConvWindow &height = sizes.axes[1], &width = sizes.axes[2];
  const cudnnDataType_t type = library_type(dtype);
  const OperationNames names = names_of(result);
  std::vector<CudnnDescriptor> parts;
  parts.push_back(channels_last(kImage, type, {sizes.batch, sizes.channels, height.inputs, width.inputs}));
  parts.push_back(channels_last(kKernel, type, {sizes.filters, sizes.group_channels, height.taps, width.taps}));
  parts.push_back(channels_last(kOutput, type, {sizes.batch, sizes.filters, height.outputs, width.outputs}));
  parts.push_back(describe_windows(sizes));
  CudnnDescriptor operation(names.type);
  operation.set(names.image, parts[0]);
  operation.set(names.kernel, parts[1]);
  operation.set(names.output, parts[2]);
  operation.set(names.windows, parts[3]);
  const float one = 1, zero = 0;
  operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one);
  operation.set(names.beta, CUDNN_TYPE_FLOAT, 1, &zero);
  const bool full_precision = dtype == DType::Float32 && !tensor_float_32_execution_enabled();
  return CudnnPlan::make(device, std::move(parts), std::move(operation),
                         {kMostWorkspace, full_precision, op_determinism_enabled()});
}

// Whether the library is worth asking: it knows float64 and sums over one channel, but own kernels do these as well.
// With few channels and filters, in numbers that no access of several takes, its gradient of a kernel was wrong (9.14).
bool suits(const ConvSizes& sizes, DType dtype) {
  if (sizes.channels % 4 != 0 && sizes.filters % 4 != 0) return false;
  const ConvWindow& depth = sizes.axes[0];
  const bool flat = depth.inputs == 1 && depth.taps == 1 && depth.outputs == 1;
  const bool depthwise = sizes.groups > 1 && sizes.group_channels == 1;
  return dtype != DType::Float64 && flat && !depthwise && sizes.inputs() * sizes.channels > 0 &&
         sizes.outputs() * sizes.filters > 0 && sizes.kernel_size() > 0;
}

std::size_t whole_places(std::int64_t elements, DType dtype) {
  return (static_cast<std::size_t>(elements) * size_of(dtype) + kPlaces - 1) / kPlaces * kPlaces;
}

constexpr std::array<std::int64_t, 3> kIds = {kImage, kKernel, kOutput};

// As many pieces of equal numbers of images as keep what is copied of them small. Memory for it is held all the time.
std::int64_t pieces_of(std::int64_t images, std::size_t bytes) {
  constexpr std::int64_t kMostPieces = 16;
  constexpr std::size_t kMostCopied = std::size_t{32} << 20;
  std::int64_t pieces = 1;
  for (std::int64_t each = 2; each <= kMostPieces && bytes / static_cast<std::size_t>(pieces) > kMostCopied; ++each) {
    if (images % each == 0) pieces = each;
  }
  return pieces;
}

// A convolution over cells, by the library. In the workspace lie the kernel over cells (for its gradient, one of each
// piece), the cells of a piece and what the plan needs. Gradients of images are left as they are: first layers need
// none.
KernelFn conv_over_cells(const KernelSpec& spec, const ConvSizes& sizes, ConvResult result) {
  const DType dtype = spec.output(0).dtype;
  if (size_of(dtype) != 2 || result == ConvResult::InputGradient || !ConvCells::suits(sizes)) return {};
  auto& device = cohort::cuda::device_of(spec);
  const ConvCells cells(sizes);
  const std::int64_t pieces = pieces_of(sizes.batch, whole_places(sizes.batch * cells.cells() * cells.wide, dtype));
  const ConvSizes seen = cells.over_cells(sizes, sizes.batch / pieces);
  auto made = make_plan(device, seen, dtype, result);
  if (!made) return {};
  auto plan = std::make_shared<const CudnnPlan>(std::move(*made));
  const bool is_gradient = result == ConvResult::KernelGradient;
  const std::size_t kernel_bytes = whole_places(seen.kernel_size(), dtype);
  const std::size_t cells_at = kernel_bytes * static_cast<std::size_t>(is_gradient ? pieces : 1);
  const std::size_t plan_at = cells_at + whole_places(seen.inputs() * seen.channels, dtype);
  device.reserve_workspace(plan_at + static_cast<std::size_t>(plan->workspace_bytes()));
  const auto image_bytes = static_cast<std::size_t>(sizes.inputs() / pieces * sizes.channels) * size_of(dtype);
  const auto output_bytes = static_cast<std::size_t>(seen.outputs() * seen.filters) * size_of(dtype);
  return [=, device = &device](const KernelIO& io) {
    const auto stream = static_cast<cudaStream_t>(io.stream);
    char* workspace = static_cast<char*>(device->workspace());
    const auto* image = static_cast<const char*>(io.inputs[0]);
    char *kernel = workspace, *output = static_cast<char*>(is_gradient ? io.inputs[1] : io.outputs[0]);
    if (!is_gradient) cells.enqueue_filters(io.inputs[1], kernel, *device, stream);
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      cells.enqueue_images(image, workspace + cells_at, seen.batch, *device, stream);
      plan->run(kIds, std::array<void*, 3>{workspace + cells_at, kernel, output}, workspace + plan_at);
      image += image_bytes;
      output += output_bytes;
      if (is_gradient) kernel += kernel_bytes;
    }
    if (!is_gradient) return;
    const auto apart = static_cast<std::int64_t>(kernel_bytes / size_of(dtype));
    cells.enqueue_sum_of_filters(workspace, io.outputs[0], pieces, apart, dtype, *device, stream);
  };
}

}  // namespace

KernelFn cudnn_conv(const KernelSpec& spec, const ConvSizes& sizes, ConvResult result) {
  const DType dtype = spec.output(0).dtype;
  if (!suits(sizes, dtype)) return {};
  if (KernelFn cells = conv_over_cells(spec, sizes, result)) return cells;
  auto& device = cohort::cuda::device_of(spec);
  auto made = make_plan(device, sizes, dtype, result);
  if (!made) return {};
  auto plan = std::make_shared<const CudnnPlan>(std::move(*made));
  // The library wants the filters in front.
  const std::size_t element = size_of(dtype), kernel_bytes = whole_places(sizes.kernel_size(), dtype);
  const std::int64_t rows = sizes.taps() * sizes.group_channels, filters = sizes.filters;
  device.reserve_workspace(kernel_bytes + static_cast<std::size_t>(plan->workspace_bytes()));
  return [=, device = &device](const KernelIO& io) {
    const auto stream = static_cast<cudaStream_t>(io.stream);
    char* workspace = static_cast<char*>(device->workspace());
    std::array<void*, 3> memory = {io.inputs[0], workspace, io.outputs[0]};
    if (result == ConvResult::InputGradient) memory = {io.outputs[0], workspace, io.inputs[0]};
    if (result == ConvResult::KernelGradient) memory = {io.inputs[0], workspace, io.inputs[1]};
    if (result != ConvResult::KernelGradient) {
      enqueue_transpose(io.inputs[1], workspace, rows, filters, element, stream);
    }
    plan->run(kIds, memory, workspace + kernel_bytes);
    if (result == ConvResult::KernelGradient) {
      enqueue_transpose(workspace, io.outputs[0], filters, rows, element, stream);
    }
  };
}

}  // namespace cohort::kernels::cuda
