#include "cohort/kernels/cuda/tiled_product.h"

#include "cohort/core/error.h"
#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/multiply_add.h"

namespace cohort::kernels::cuda {
namespace {

constexpr int kTile = 64;   // rows and columns of c for a block
constexpr int kDepth = 16;  // of both operands that a block holds at once
constexpr int kSide = 16;   // threads along a side of the tile
constexpr int kOwn = kTile / kSide;
constexpr int kPadded = kTile + 1;
static_assert(kSide * kSide == kBlock);

// What products of T are added up in: integers modulo a power of two.
template <class T, bool kIsFloat = std::is_floating_point_v<Compute<T>>>
struct SumOf {
  using type = Compute<T>;
};
template <class T>
struct SumOf<T, false> {
  using type = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
};

template <class T, class Sum>
__device__ Sum to_sum(T x) {
  return static_cast<Sum>(widened(x));
}
template <class To, class Sum>
__device__ To from_sum(Sum sum) {
  if constexpr (std::is_floating_point_v<Sum>) {
    return narrowed<To>(sum);
  } else {
    return static_cast<To>(sum);
  }
}

// An operand as a matrix of `lines` rows of a or columns of b, each of `depth` elements.
template <class T>
struct Lines {
  const T* data;
  std::int64_t line_stride, depth_stride;
};

// Brings a part of an operand into shared memory; what lies outside is zero.
template <class T, class Sum>
__device__ void load(const Lines<T>& from, std::int64_t first_line, std::int64_t lines, std::int64_t first,
                     std::int64_t depth, Sum (&to)[kDepth][kPadded]) {
  // Neighbouring threads read along the axis whose elements are neighbours.
  const bool along_depth = from.depth_stride == 1;
#pragma unroll
  for (int i = 0; i < kTile * kDepth / kBlock; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * kBlock;
    const int line = along_depth ? at / kDepth : at % kTile, d = along_depth ? at % kDepth : at / kTile;
    const std::int64_t line_at = first_line + line, depth_at = first + d;
    to[d][line] = line_at < lines && depth_at < depth
                      ? to_sum<T, Sum>(from.data[line_at * from.line_stride + depth_at * from.depth_stride])
                      : Sum(0);
  }
}

template <class T, class To>
__global__ void __launch_bounds__(kBlock)
    multiply(ProductShape shape, const T* __restrict__ a, const T* __restrict__ b, To* __restrict__ c,
             std::int64_t row_tiles, std::int64_t column_tiles) {
  using Sum = typename SumOf<T>::type;
  __shared__ Sum a_part[kDepth][kPadded], b_part[kDepth][kPadded];
  std::int64_t rest = blockIdx.x;
  const std::int64_t first_column = rest % column_tiles * kTile;
  rest /= column_tiles;
  const std::int64_t first_row = rest % row_tiles * kTile;
  rest /= row_tiles;
  for (int i = shape.batch_rank - 1; i >= 0; --i) {
    const ProductShape::BatchAxis& axis = shape.batch[i];
    const std::int64_t at = rest % axis.size;
    rest /= axis.size;
    a += at * axis.a_stride;
    b += at * axis.b_stride;
    c += at * axis.c_stride;
  }
  const Lines<T> rows{a, shape.transpose_a ? 1 : shape.k, shape.transpose_a ? shape.m : 1};
  const Lines<T> columns{b, shape.transpose_b ? shape.k : 1, shape.transpose_b ? 1 : shape.n};
  const int across = static_cast<int>(threadIdx.x) % kSide, down = static_cast<int>(threadIdx.x) / kSide;
  Sum sums[kOwn][kOwn] = {};
  for (std::int64_t first = 0; first < shape.k; first += kDepth) {
    load(rows, first_row, shape.m, first, shape.k, a_part);
    load(columns, first_column, shape.n, first, shape.k, b_part);
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      Sum left[kOwn], right[kOwn];
#pragma unroll
      for (int i = 0; i < kOwn; ++i) left[i] = a_part[d][down + i * kSide];
#pragma unroll
      for (int j = 0; j < kOwn; ++j) right[j] = b_part[d][across + j * kSide];
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
#pragma unroll
        for (int j = 0; j < kOwn; ++j) sums[i][j] = multiply_add(left[i], right[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < kOwn; ++i) {
    const std::int64_t row = first_row + down + i * kSide;
    for (int j = 0; j < kOwn; ++j) {
      const std::int64_t column = first_column + across + j * kSide;
      if (row < shape.m && column < shape.n) c[row * shape.n + column] = from_sum<To>(sums[i][j]);
    }
  }
}

template <class T, class To>
void launch_tiles(const ProductShape& shape, const void* a, const void* b, void* c, cudaStream_t stream) {
  const std::int64_t row_tiles = (shape.m + kTile - 1) / kTile, column_tiles = (shape.n + kTile - 1) / kTile;
  const std::int64_t blocks = row_tiles * column_tiles * shape.products();
  if (blocks == 0) return;
  constexpr std::int64_t kMostBlocks = (std::int64_t{1} << 31) - 1;
  if (blocks > kMostBlocks) {
    throw Error(ErrorCode::ResourceExhausted, "MatMul", "fewer products are expected in a batch",
                {{"products", shape.products()}, {"rows", shape.m}, {"columns", shape.n}});
  }
  multiply<T, To><<<static_cast<unsigned int>(blocks), kBlock, 0, stream>>>(
      shape, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<To*>(c), row_tiles, column_tiles);
  cohort::cuda::check(cudaGetLastError());
}

template <class T>
void round_to(const float* wide, T* narrow, std::int64_t count, const cohort::cuda::CudaDevice& device,
              cudaStream_t stream) {
  using Four = Pack<T, 4>;
  const bool aligned = is_aligned(wide) && is_aligned(narrow);
  const std::int64_t packed = aligned ? count / 4 : 0, first = packed * 4;
  launch_each(packed + count - first, device, stream, [=] __device__(std::int64_t i) {
    if (i >= packed) {
      const std::int64_t at = first + i - packed;
      narrow[at] = narrowed<T>(wide[at]);
      return;
    }
    const float4 in = reinterpret_cast<const float4*>(wide)[i];
    Four out;
    out.values[0] = narrowed<T>(in.x);
    out.values[1] = narrowed<T>(in.y);
    out.values[2] = narrowed<T>(in.z);
    out.values[3] = narrowed<T>(in.w);
    reinterpret_cast<Four*>(narrow)[i] = out;
  });
}

}  // namespace

void enqueue_tiled_product(const ProductShape& shape, const void* a, const void* b, void* c, cudaStream_t stream) {
  visit_number(shape.operands, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (!std::is_same_v<T, Compute<T>>) {
      if (shape.result != shape.operands) return launch_tiles<T, float>(shape, a, b, c, stream);
    }
    launch_tiles<T, T>(shape, a, b, c, stream);
  });
}

void enqueue_rounding(DType half, const void* from, void* to, std::int64_t count,
                      const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  const auto* wide = static_cast<const float*>(from);
  if (half == DType::Float16) {
    round_to(wide, static_cast<__half*>(to), count, device, stream);
  } else {
    round_to(wide, static_cast<__nv_bfloat16*>(to), count, device, stream);
  }
}

}  // namespace cohort::kernels::cuda
