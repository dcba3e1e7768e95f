#include "cohort/kernels/cuda/product.h"

#include <algorithm>

#include "cohort/core/mixed_types.h"
#include "cohort/core/tensor_float_32.h"
#include "cohort/cuda/cublas_lt.h"
#include "cohort/kernels/cuda/small_product.h"
#include "cohort/kernels/cuda/tiled_product.h"

namespace cohort::kernels::cuda {
namespace {

// Of all matrices; no kernel of the library asks for more.
constexpr std::uint32_t kAlignment = 16;
// Calls for one batch whose axes do not merge; from there on own kernels do it in one.
constexpr std::int64_t kMostCalls = 64;

cudaDataType_t library_type(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return CUDA_R_16F;
    case DType::BFloat16:
      return CUDA_R_16BF;
    case DType::Float64:
      return CUDA_R_64F;
    default:
      return CUDA_R_32F;
  }
}

cublasComputeType_t compute_type_of(DType dtype) {
  if (dtype == DType::Float64) return CUBLAS_COMPUTE_64F;
  const bool rounds = dtype == DType::Float32 && tensor_float_32_execution_enabled();
  return rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

bool is_aligned(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % kAlignment == 0; }

// To what the first elements of matrices are aligned that lie a multiple of `bytes` behind an aligned one.
std::uint32_t alignment_of(std::int64_t bytes) {
  std::uint32_t alignment = kAlignment;
  while (bytes % alignment != 0) alignment /= 2;
  return alignment;
}

cublasLtEpilogue_t epilogue_of(const ProductFinish& finish) {
  if (finish.wide_bias) return CUBLASLT_EPILOGUE_DEFAULT;
  if (finish.activation == "Relu") return finish.has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  return finish.has_bias && finish.activation.empty() ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

bool adds_bias(cublasLtEpilogue_t epilogue) { return (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }

// Calls body(a, b, c) with the first elements of each product, or of each row of products along `strided`.
template <class Body>
void for_each_call(const ProductShape& shape, int strided, const Body& body) {
  std::int64_t calls = 1;
  for (int i = 0; i < shape.batch_rank; ++i) calls *= i == strided ? 1 : shape.batch[i].size;
  for (std::int64_t call = 0; call < calls; ++call) {
    std::int64_t rest = call, a = 0, b = 0, c = 0;
    for (int i = shape.batch_rank - 1; i >= 0; --i) {
      if (i == strided) continue;
      const ProductShape::BatchAxis& axis = shape.batch[i];
      const std::int64_t at = rest % axis.size;
      rest /= axis.size;
      a += at * axis.a_stride;
      b += at * axis.b_stride;
      c += at * axis.c_stride;
    }
    body(a, b, c);
  }
}

const void* moved(const void* memory, std::int64_t elements, DType dtype) {
  return static_cast<const char*>(memory) + elements * static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace

Product::Product(const ProductShape& shape, cohort::cuda::CudaDevice& device, const ProductFinish& finish)
    : shape_(shape),
      device_(&device),
      finish_(shape.operands, finish.activation, finish.has_bias, finish.wide_bias),
      small_(is_small_product(shape)) {
  if (small_ || !is_floating(shape.operands) || shape.m == 0 || shape.n == 0 || shape.k == 0 || shape.products() == 0)
    return;
  for (int i = 0; i < shape.batch_rank; ++i) {
    if (strided_axis_ < 0 || shape.batch[i].size > shape.batch[strided_axis_].size) strided_axis_ = i;
  }
  const std::int64_t together = strided_axis_ < 0 ? 1 : shape.batch[strided_axis_].size;
  if (shape.products() / together > kMostCalls) return;
  device.reserve_workspace(kWorkspace);
  const cublasLtEpilogue_t epilogue = epilogue_of(finish);
  if (epilogue != CUBLASLT_EPILOGUE_DEFAULT) plan_ = find_plan(epilogue);
  if (!plan_) plan_ = find_plan(CUBLASLT_EPILOGUE_DEFAULT);
}

std::optional<Product::Plan> Product::find_plan(cublasLtEpilogue_t epilogue) const {
  const cohort::cuda::CublasLt& library = cohort::cuda::cublas_lt();
  Plan plan{};
  plan.handle = cohort::cuda::cublas_lt_handle(*device_);
  device_->make_current();
  const ProductShape& s = shape_;
  const auto set = [&](auto attribute, const auto& value) {
    library.check(library.set_operation(&plan.operation, attribute, &value, sizeof value));
  };
  library.check(library.init_operation(&plan.operation, sizeof plan.operation, compute_type_of(s.operands),
                                       s.operands == DType::Float64 ? CUDA_R_64F : CUDA_R_32F));
  set(CUBLASLT_MATMUL_DESC_TRANSA, s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  plan.finishes = epilogue != CUBLASLT_EPILOGUE_DEFAULT;
  if (adds_bias(epilogue)) {
    // Some memory must be named before algorithms are given.
    const void* some_bias = device_->workspace();
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, some_bias);
  }

  // A row-major matrix is the transposed column-major one.
  const auto init = [&](cublasLtMatrixLayoutOpaque_t& layout, DType dtype, std::int64_t rows, std::int64_t columns,
                        std::int64_t ProductShape::BatchAxis::*stride) {
    library.check(library.init_layout(&layout, sizeof layout, library_type(dtype), static_cast<std::uint64_t>(columns),
                                      static_cast<std::uint64_t>(rows), columns));
    if (strided_axis_ < 0) return;
    const ProductShape::BatchAxis& axis = s.batch[strided_axis_];
    const auto count = static_cast<std::int32_t>(axis.size);
    library.check(library.set_layout(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    library.check(library.set_layout(&layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &(axis.*stride),
                                     sizeof(axis.*stride)));
  };
  using Axis = ProductShape::BatchAxis;
  init(plan.left, s.operands, s.transpose_b ? s.n : s.k, s.transpose_b ? s.k : s.n, &Axis::b_stride);
  init(plan.right, s.operands, s.transpose_a ? s.k : s.m, s.transpose_a ? s.m : s.k, &Axis::a_stride);
  init(plan.result, s.result, s.m, s.n, &Axis::c_stride);

  cublasLtMatmulPreferenceOpaque_t preference;
  library.check(library.init_preference(&preference, sizeof preference));
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    library.check(library.set_preference(&preference, attribute, &value, sizeof value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kWorkspace});
  // Parts of a sum are added up in a fixed order and in the type of the sums.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  std::uint32_t a_alignment = kAlignment, b_alignment = kAlignment, c_alignment = kAlignment;
  for_each_call(s, strided_axis_, [&](std::int64_t a, std::int64_t b, std::int64_t c) {
    const auto bytes = static_cast<std::int64_t>(size_of(s.operands));
    a_alignment = std::min(a_alignment, alignment_of(a * bytes));
    b_alignment = std::min(b_alignment, alignment_of(b * bytes));
    c_alignment = std::min(c_alignment, alignment_of(c * static_cast<std::int64_t>(size_of(s.result))));
  });
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, b_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, a_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c_alignment);

  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status = library.find_algorithms(plan.handle, &plan.operation, &plan.left, &plan.right,
                                                        &plan.result, &plan.result, &preference, 1, &found, &count);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0 || found.state != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  plan.algorithm = found.algo;
  return plan;
}

void Product::multiply(const Plan& plan, const void* a, const void* b, void* c, const void* bias,
                       cudaStream_t stream) const {
  const cohort::cuda::CublasLt& library = cohort::cuda::cublas_lt();
  const double one = 1, zero = 0;
  const float one_float = 1, zero_float = 0;
  const bool wide = shape_.operands == DType::Float64;
  const void *alpha = wide ? static_cast<const void*>(&one) : &one_float,
             *beta = wide ? static_cast<const void*>(&zero) : &zero_float;
  cublasLtMatmulDescOpaque_t operation = plan.operation;
  if (bias) {
    library.check(library.set_operation(&operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
  }
  auto left = plan.left, right = plan.right, result = plan.result;
  for_each_call(shape_, strided_axis_, [&](std::int64_t a_at, std::int64_t b_at, std::int64_t c_at) {
    void* to = static_cast<char*>(c) + c_at * static_cast<std::int64_t>(size_of(shape_.result));
    library.check(library.multiply(plan.handle, &operation, alpha, moved(b, b_at, shape_.operands), &left,
                                   moved(a, a_at, shape_.operands), &right, beta, to, &result, to, &result,
                                   &plan.algorithm, device_->workspace(), kWorkspace, stream));
  });
}

void Product::run(const void* a, const void* b, void* c, const void* bias, cudaStream_t stream) const {
  if (small_) return enqueue_small_product(shape_, finish_, a, b, c, bias, *device_, stream);
  const bool by_library = plan_ && is_aligned(a) && is_aligned(b) && is_aligned(c);
  if (by_library) {
    multiply(*plan_, a, b, c, plan_->finishes ? bias : nullptr, stream);
  } else {
    enqueue_tiled_product(shape_, a, b, c, stream);
  }
  if (by_library && plan_->finishes) return;
  finish_.run(c, bias, shape_.products() * shape_.m, shape_.n, *device_, stream);
}

}  // namespace cohort::kernels::cuda
