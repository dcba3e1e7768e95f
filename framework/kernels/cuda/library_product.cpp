#include "cohort/kernels/cuda/library_product.h"

#include <algorithm>
#include <sstream>

#include "cohort/core/tensor_float_32.h"
#include "cohort/cuda/cublas_lt.h"

namespace cohort::kernels::cuda {
namespace {

using cohort::cuda::cublas_lt;
using cohort::cuda::CublasLt;

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

// To what the first elements of matrices are aligned that lie a multiple of `bytes` behind an aligned one.
std::uint32_t alignment_of(std::int64_t bytes) {
  std::uint32_t alignment = LibraryProduct::kAlignment;
  while (bytes % alignment != 0) alignment /= 2;
  return alignment;
}

bool has_vector(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BGRADA || (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
}

const void* moved(const void* memory, std::int64_t elements, DType dtype) {
  return static_cast<const char*>(memory) + elements * static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace

LibraryProduct::LibraryProduct(const ProductShape& shape, cublasLtEpilogue_t epilogue, DType vector,
                               cohort::cuda::CudaDevice& device)
    : shape_(shape),
      epilogue_(epilogue),
      vector_(vector),
      device_(&device),
      handle_(cohort::cuda::cublas_lt_handle(device)) {
  for (int i = 0; i < shape.batch_rank; ++i) {
    if (strided_axis_ < 0 || shape.batch[i].size > shape.batch[strided_axis_].size) strided_axis_ = i;
  }
  device.make_current();
  describe_operation();
  describe_matrices();
}

bool LibraryProduct::has_mask(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_RELU_AUX || epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_DRELU;
}

std::int64_t LibraryProduct::calls() const {
  return shape_.products() / (strided_axis_ < 0 ? 1 : shape_.batch[strided_axis_].size);
}

template <class Body>
void LibraryProduct::for_each_call(const Body& body) const {
  for (std::int64_t call = 0; call < calls(); ++call) {
    std::int64_t rest = call, a = 0, b = 0, c = 0;
    for (int i = shape_.batch_rank - 1; i >= 0; --i) {
      if (i == strided_axis_) continue;
      const ProductShape::BatchAxis& axis = shape_.batch[i];
      const std::int64_t at = rest % axis.size;
      rest /= axis.size;
      a += at * axis.a_stride;
      b += at * axis.b_stride;
      c += at * axis.c_stride;
    }
    body(a, b, c);
  }
}

void LibraryProduct::describe_operation() {
  const CublasLt& library = cublas_lt();
  const auto set = [&](auto attribute, const auto& value) {
    library.check(library.set_operation(&operation_, attribute, &value, sizeof value));
  };
  library.check(library.init_operation(&operation_, sizeof operation_, compute_type_of(shape_.operands),
                                       shape_.operands == DType::Float64 ? CUDA_R_64F : CUDA_R_32F));
  set(CUBLASLT_MATMUL_DESC_TRANSA, shape_.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, shape_.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_);
  // Some memory must be named before algorithms are given.
  const void* some_memory = device_->workspace();
  if (has_vector(epilogue_)) {
    if (vector_ != shape_.result) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, library_type(vector_));
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, some_memory);
  }
  if (has_mask(epilogue_)) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, shape_.n);  // in bits
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, some_memory);
  }
}

void LibraryProduct::describe_matrices() {
  const CublasLt& library = cublas_lt();
  const ProductShape& s = shape_;
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
  init(left_, s.operands, s.transpose_b ? s.n : s.k, s.transpose_b ? s.k : s.n, &Axis::b_stride);
  init(right_, s.operands, s.transpose_a ? s.k : s.m, s.transpose_a ? s.m : s.k, &Axis::a_stride);
  init(result_, s.result, s.m, s.n, &Axis::c_stride);
}

LibraryProduct::Alignment LibraryProduct::alignment() const {
  Alignment found;
  for_each_call([&](std::int64_t a, std::int64_t b, std::int64_t c) {
    const auto bytes = static_cast<std::int64_t>(size_of(shape_.operands));
    found.a = std::min(found.a, alignment_of(a * bytes));
    found.b = std::min(found.b, alignment_of(b * bytes));
    found.c = std::min(found.c, alignment_of(c * static_cast<std::int64_t>(size_of(shape_.result))));
  });
  return found;
}

std::vector<cublasLtMatmulAlgo_t> LibraryProduct::algorithms(int most) const {
  const CublasLt& library = cublas_lt();
  cublasLtMatmulPreferenceOpaque_t preference;
  library.check(library.init_preference(&preference, sizeof preference));
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    library.check(library.set_preference(&preference, attribute, &value, sizeof value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kWorkspace});
  // Parts of a sum are added up in a fixed order and in the type of the sums.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  const Alignment aligned = alignment();
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, aligned.b);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, aligned.a);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, aligned.c);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, aligned.c);

  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(most));
  int count = 0;
  auto operation = operation_;
  auto left = left_, right = right_, result = result_;
  if (library.find_algorithms(handle_, &operation, &left, &right, &result, &result, &preference, most, found.data(),
                              &count) != CUBLAS_STATUS_SUCCESS) {
    return {};
  }
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; i < count; ++i) {
    const cublasLtMatmulHeuristicResult_t& each = found[static_cast<std::size_t>(i)];
    if (each.state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(each.algo);
  }
  return algorithms;
}

bool LibraryProduct::accepts(const cublasLtMatmulAlgo_t& algorithm) const {
  const CublasLt& library = cublas_lt();
  auto operation = operation_;
  auto left = left_, right = right_, result = result_;
  cublasLtMatmulHeuristicResult_t checked{};
  return library.check_algorithm(handle_, &operation, &left, &right, &result, &result, &algorithm, &checked) ==
             CUBLAS_STATUS_SUCCESS &&
         checked.state == CUBLAS_STATUS_SUCCESS && checked.workspaceSize <= kWorkspace;
}

std::string LibraryProduct::key() const {
  const ProductShape& s = shape_;
  const Alignment aligned = alignment();
  std::ostringstream text;
  text << s.operands << " to " << s.result << " computed " << static_cast<int>(compute_type_of(s.operands))
       << " epilogue " << static_cast<int>(epilogue_) << " vector " << vector_ << " sizes " << s.m << ' ' << s.n << ' '
       << s.k << " transposed " << s.transpose_a << s.transpose_b << " aligned " << aligned.a << ' ' << aligned.b << ' '
       << aligned.c << " workspace " << kWorkspace << " calls " << calls();
  if (strided_axis_ >= 0) {
    const ProductShape::BatchAxis& axis = s.batch[strided_axis_];
    text << " batch " << axis.size << ' ' << axis.a_stride << ' ' << axis.b_stride << ' ' << axis.c_stride;
  }
  return text.str();
}

cublasStatus_t LibraryProduct::multiply(const ProductMemory& memory, cudaStream_t stream) const {
  const CublasLt& library = cublas_lt();
  const double one = 1, zero = 0;
  const float one_float = 1, zero_float = 0;
  const bool wide = shape_.operands == DType::Float64;
  const void *alpha = wide ? static_cast<const void*>(&one) : &one_float,
             *beta = wide ? static_cast<const void*>(&zero) : &zero_float;
  auto operation = operation_;
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, void* const& pointer) {
    library.check(library.set_operation(&operation, attribute, &pointer, sizeof pointer));
  };
  if (has_vector(epilogue_)) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, memory.vector);
  if (has_mask(epilogue_)) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, memory.mask);
  auto left = left_, right = right_, result = result_;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  for_each_call([&](std::int64_t a_at, std::int64_t b_at, std::int64_t c_at) {
    if (status != CUBLAS_STATUS_SUCCESS) return;
    void* to = static_cast<char*>(memory.c) + c_at * static_cast<std::int64_t>(size_of(shape_.result));
    status = library.multiply(handle_, &operation, alpha, moved(memory.b, b_at, shape_.operands), &left,
                              moved(memory.a, a_at, shape_.operands), &right, beta, to, &result, to, &result,
                              &algorithm_, device_->workspace(), kWorkspace, stream);
  });
  return status;
}

void LibraryProduct::run(const ProductMemory& memory, cudaStream_t stream) const {
  cublas_lt().check(multiply(memory, stream));
}

bool LibraryProduct::try_run(const ProductMemory& memory, cudaStream_t stream) const {
  return multiply(memory, stream) == CUBLAS_STATUS_SUCCESS;
}

}  // namespace cohort::kernels::cuda
