#include "cohort/kernels/cuda/small_product.h"

#include <type_traits>

#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/elementwise.h"
#include "cohort/kernels/cuda/groups.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/row_finish_elements.h"
#include "cohort/kernels/cuda/words.h"

namespace cohort::kernels::cuda {
namespace {

// A block takes a square of c. A thread has a patch of kPatch x kPatch of it for one in so many elements of the depth;
// as many neighbouring threads as the patch has elements share it, so that each ends up with the sum of one.
constexpr int kPatch = 4, kShares = kPatch * kPatch;
constexpr int kSmallWarps = kBlock / kWarp;

template <int kSide>
struct SmallTile {
  static constexpr int kAcross = kSide / kPatch;  // patches
  static constexpr int kPatches = kAcross * kAcross;
  static constexpr int kTeams = kBlock / kShares / kPatches;  // of threads that take turns along the depth
  static constexpr int kTurn = kTeams * kShares;              // elements of the depth
  static constexpr int kDepth = 2048 / kSide;                 // of both operands that a block holds at once
  // In shared memory, of the lines at one depth. An odd number of vectors: eight threads that read one each at
  // successive depths meet no bank twice.
  static constexpr int kStride = kAcross % 2 == 0 ? kSide + kPatch : kSide;
  static constexpr int kFetched = kDepth * kSide / kBlock;  // elements of an operand for each thread
  static_assert(kTeams >= 1 && kDepth % kTurn == 0);
};

// The rows of a or the columns of b that a block has. Line `ones` is not in memory: a row of ones makes sums of b.
template <class T>
struct SmallLines {
  const T* data;
  int count, line_stride, depth_stride, ones = -1;
};

// Where element i of a thread's part stands: a warp's 32 elements are 8 neighbours along the depth of 4 lines each, or
// whole lines at depths so far apart that no two elements share a bank.
template <int kSide>
__device__ inline void find_element(int i, bool along_depth, int& line, int& depth) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, access = i * kSmallWarps + thread / kWarp;
  constexpr int kParts = kSide / kPatch;
  const int part = access % kParts, first = access / kParts * 8;
  if (along_depth) {
    line = part * 4 + lane / 8;
    depth = first + lane % 8;
  } else {
    line = lane % kSide;
    depth = first + lane / kSide * kParts + part;
  }
}

template <int kSide, class T>
__device__ inline void fetch(const SmallLines<T>& from, int first, int depth, T (&to)[SmallTile<kSide>::kFetched]) {
#pragma unroll
  for (int i = 0; i < SmallTile<kSide>::kFetched; ++i) {
    int line, at;
    find_element<kSide>(i, from.depth_stride == 1, line, at);
    at += first;
    to[i] = T(0.0f);
    if (line < from.count && at < depth) to[i] = from.data[line * from.line_stride + at * from.depth_stride];
    if (line == from.ones) to[i] = T(1.0f);
  }
}

template <int kSide, class T>
__device__ inline void put(const T (&from)[SmallTile<kSide>::kFetched], bool along_depth, int needed,
                           float (&to)[SmallTile<kSide>::kDepth][SmallTile<kSide>::kStride]) {
#pragma unroll
  for (int i = 0; i < SmallTile<kSide>::kFetched; ++i) {
    int line, at;
    find_element<kSide>(i, along_depth, line, at);
    if (at < needed) to[at][line] = widened(from[i]);
  }
}

// Of the sums that 2 * kHalf neighbouring threads have of as many elements each, every thread gets the whole of its
// own: half of what is left goes to the other thread in each step.
template <int kHalf>
__device__ inline void share_sums(float (&sums)[kShares]) {
  const bool upper = (threadIdx.x & kHalf) != 0;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    const float kept = upper ? sums[i + kHalf] : sums[i], given = upper ? sums[i] : sums[i + kHalf];
    sums[i] = kept + __shfl_xor_sync(0xffffffffu, given, kHalf);
  }
  if constexpr (kHalf > 1) share_sums<kHalf / 2>(sums);
}

// What is done beside a product, as its kernel reads it.
struct SmallFinish {
  const void* bias;  // null for none
  bool wide_bias;
  RowFinish::Activation activation;
  SmallSums sums;

  // Rows that are made: the sums are one more.
  __host__ __device__ std::int64_t rows_of(const ProductShape& shape) const { return shape.m + (sums.memory ? 1 : 0); }
};

template <class T>
__device__ void write_sum(const SmallSums& sums, int column, float sum) {
  if (sums.wide) {
    static_cast<float*>(sums.memory)[column] = sum;
  } else {
    static_cast<T*>(sums.memory)[column] = narrowed<T>(sum);
  }
}

// From the matrices of the first product to those of another, in elements.
struct ProductOffsets {
  std::int64_t a = 0, b = 0, c = 0;

  __device__ ProductOffsets(const ProductShape& shape, int product) {
    for (int i = shape.batch_rank - 1; i >= 0; --i) {
      const ProductShape::BatchAxis& axis = shape.batch[i];
      const int size = static_cast<int>(axis.size), at = product % size;
      product /= size;
      a += at * axis.a_stride;
      b += at * axis.b_stride;
      c += at * axis.c_stride;
    }
  }
};

template <class T, class To, int kSide>
__global__ void __launch_bounds__(kBlock)
    multiply_small(const __grid_constant__ ProductShape shape, const T* __restrict__ a, const T* __restrict__ b,
                   To* __restrict__ c, SmallFinish finish, int row_tiles, int column_tiles) {
  using Tile = SmallTile<kSide>;
  __shared__ alignas(16) float a_part[Tile::kDepth][Tile::kStride], b_part[Tile::kDepth][Tile::kStride];
  __shared__ float team_sums[kBlock];
  const int m = static_cast<int>(shape.m), n = static_cast<int>(shape.n), k = static_cast<int>(shape.k);
  int rest = static_cast<int>(blockIdx.x);
  const int first_column = rest % column_tiles * kSide;
  rest /= column_tiles;
  const int first_row = rest % row_tiles * kSide;
  rest /= row_tiles;
  const ProductOffsets offsets(shape, rest);
  a += offsets.a;
  b += offsets.b;
  c += offsets.c;
  const int a_line = shape.transpose_a ? 1 : k, b_line = shape.transpose_b ? k : 1;
  const SmallLines<T> rows{a + first_row * a_line, m - first_row, a_line, shape.transpose_a ? m : 1,
                           finish.sums.memory ? m - first_row : -1};
  const SmallLines<T> columns{b + first_column * b_line, n - first_column, b_line, shape.transpose_b ? 1 : n};

  T a_next[Tile::kFetched], b_next[Tile::kFetched];
  fetch<kSide>(rows, 0, k, a_next);
  fetch<kSide>(columns, 0, k, b_next);

  const int thread = static_cast<int>(threadIdx.x), share = thread % kShares;
  const int patch = thread / kShares % Tile::kPatches, team = thread / kShares / Tile::kPatches;
  const int patch_row = patch / Tile::kAcross * kPatch, patch_column = patch % Tile::kAcross * kPatch;
  const int row = first_row + patch_row + share / kPatch, column = first_column + patch_column + share % kPatch;
  const bool exists = row < finish.rows_of(shape) && column < n && team == 0;
  float added = 0;
  if (exists && finish.bias) added = widened(bias_at<T>(finish.bias, finish.wide_bias, column));

  float sums[kShares] = {};
  for (int first = 0; first < k; first += Tile::kDepth) {
    // What is left of the depth, made up to whole turns by zeros.
    const int left = k - first < Tile::kDepth ? k - first : Tile::kDepth;
    const int needed = (left + Tile::kTurn - 1) / Tile::kTurn * Tile::kTurn;
    if (first > 0) __syncthreads();
    put<kSide>(a_next, rows.depth_stride == 1, needed, a_part);
    put<kSide>(b_next, columns.depth_stride == 1, needed, b_part);
    __syncthreads();
    if (first + Tile::kDepth < k) {
      fetch<kSide>(rows, first + Tile::kDepth, k, a_next);
      fetch<kSide>(columns, first + Tile::kDepth, k, b_next);
    }
#pragma unroll 4
    for (int at = team * kShares + share; at < needed; at += Tile::kTurn) {
      const float4 left_four = *reinterpret_cast<const float4*>(&a_part[at][patch_row]);
      const float4 right_four = *reinterpret_cast<const float4*>(&b_part[at][patch_column]);
      const float left_values[kPatch] = {left_four.x, left_four.y, left_four.z, left_four.w};
      const float right_values[kPatch] = {right_four.x, right_four.y, right_four.z, right_four.w};
#pragma unroll
      for (int i = 0; i < kPatch; ++i) {
#pragma unroll
        for (int j = 0; j < kPatch; ++j) {
          sums[i * kPatch + j] = fmaf(left_values[i], right_values[j], sums[i * kPatch + j]);
        }
      }
    }
  }

  share_sums<kShares / 2>(sums);
  float sum = sums[0];
  if constexpr (Tile::kTeams > 1) {
    team_sums[thread] = sum;
    __syncthreads();
#pragma unroll
    for (int other = 1; other < Tile::kTeams; ++other) {
      const int at = thread + other * Tile::kPatches * kShares;
      if (team == 0) sum += team_sums[at];
    }
  }
  if (!exists) return;
  if (row == m) return write_sum<T>(finish.sums, column, sum);
  if (finish.bias) sum += added;
  c[row * n + column] = narrowed<To>(activated(sum, finish.activation));
}

// Shallow products: a thread has all of the depth, for some neighbouring columns of a row of the block's.
constexpr int kShallowDepth = 32, kShallowRows = 16, kShallowColumns = 64, kShallowOwn = 4;
// By how many a line in shared memory is longer: what is read along the depth is written to few banks twice.
constexpr int kShallowGap = 4;
static_assert(kShallowRows * kShallowColumns == kBlock * kShallowOwn);

// All lines of an operand that a block has, zeros where there are no more.
template <int kLines, class T>
__device__ inline void load_shallow(const SmallLines<T>& from, int depth, float (*to)[kLines + kShallowGap]) {
  for (int i = static_cast<int>(threadIdx.x); i < depth * kLines; i += kBlock) {
    // Neighbours in memory belong to neighbouring threads.
    const bool along_depth = from.depth_stride == 1;
    const int line = along_depth ? i / depth : i % kLines, at = along_depth ? i % depth : i / kLines;
    float value = 0;
    if (line < from.count) value = widened(from.data[line * from.line_stride + at * from.depth_stride]);
    to[at][line] = value;
  }
}

// `packed`: a thread writes all of its columns at once.
template <class T, class To>
__global__ void __launch_bounds__(kBlock)
    multiply_shallow(const __grid_constant__ ProductShape shape, const T* __restrict__ a, const T* __restrict__ b,
                     To* __restrict__ c, SmallFinish finish, int row_tiles, int column_tiles, bool packed) {
  __shared__ alignas(16) float a_part[kShallowDepth][kShallowRows + kShallowGap];
  __shared__ alignas(16) float b_part[kShallowDepth][kShallowColumns + kShallowGap];
  const int m = static_cast<int>(shape.m), n = static_cast<int>(shape.n), k = static_cast<int>(shape.k);
  int rest = static_cast<int>(blockIdx.x);
  const int first_column = rest % column_tiles * kShallowColumns;
  rest /= column_tiles;
  const int first_row = rest % row_tiles * kShallowRows;
  const ProductOffsets offsets(shape, rest / row_tiles);
  a += offsets.a;
  b += offsets.b;
  c += offsets.c;
  const int a_line = shape.transpose_a ? 1 : k, b_line = shape.transpose_b ? k : 1;
  load_shallow<kShallowRows>(SmallLines<T>{a + first_row * a_line, m - first_row, a_line, shape.transpose_a ? m : 1}, k,
                             a_part);
  load_shallow<kShallowColumns>(
      SmallLines<T>{b + first_column * b_line, n - first_column, b_line, shape.transpose_b ? 1 : n}, k, b_part);
  __syncthreads();

  constexpr int kAcross = kShallowColumns / kShallowOwn;
  const int own_row = static_cast<int>(threadIdx.x) / kAcross;
  const int own_column = static_cast<int>(threadIdx.x) % kAcross * kShallowOwn;
  const int row = first_row + own_row, column = first_column + own_column;
  if (row >= m || column >= n) return;
  float sums[kShallowOwn] = {};
#pragma unroll 4
  for (int at = 0; at < k; ++at) {
    const float left = a_part[at][own_row];
    const float4 right = *reinterpret_cast<const float4*>(&b_part[at][own_column]);
    sums[0] = fmaf(left, right.x, sums[0]);
    sums[1] = fmaf(left, right.y, sums[1]);
    sums[2] = fmaf(left, right.z, sums[2]);
    sums[3] = fmaf(left, right.w, sums[3]);
  }
  Pack<To, kShallowOwn> pack;
#pragma unroll
  for (int i = 0; i < kShallowOwn; ++i) {
    if (finish.bias && column + i < n) sums[i] += widened(bias_at<T>(finish.bias, finish.wide_bias, column + i));
    pack.values[i] = narrowed<To>(activated(sums[i], finish.activation));
  }
  To* to = c + row * n + column;
  if (packed) {
    *reinterpret_cast<Pack<To, kShallowOwn>*>(to) = pack;
    return;
  }
#pragma unroll
  for (int i = 0; i < kShallowOwn; ++i) {
    if (column + i < n) to[i] = pack.values[i];
  }
}

// Whether a product is shallow, and so wide that threads which share the depth of an element have little to share.
bool is_shallow(const ProductShape& shape, const SmallFinish& finish) {
  constexpr std::int64_t kManyElements = 1 << 14;
  return !finish.sums.memory && shape.k <= kShallowDepth && shape.products() * shape.m * shape.n >= kManyElements;
}

template <class T, class To>
void launch_shallow(const ProductShape& shape, const SmallFinish& finish, const void* a, const void* b, void* c,
                    cudaStream_t stream) {
  const auto row_tiles = static_cast<int>((shape.m + kShallowRows - 1) / kShallowRows);
  const auto column_tiles = static_cast<int>((shape.n + kShallowColumns - 1) / kShallowColumns);
  const auto blocks = static_cast<unsigned int>(shape.products() * row_tiles * column_tiles);
  const bool packed = shape.n % kShallowOwn == 0 && is_aligned_to(c, sizeof(Pack<To, kShallowOwn>));
  multiply_shallow<T, To><<<blocks, kBlock, 0, stream>>>(shape, static_cast<const T*>(a), static_cast<const T*>(b),
                                                         static_cast<To*>(c), finish, row_tiles, column_tiles, packed);
  cohort::cuda::check(cudaGetLastError());
}

std::int64_t tiles_of(const ProductShape& shape, int side) {
  return (shape.m + side - 1) / side * ((shape.n + side - 1) / side) * shape.products();
}

// Deep products of few elements are cut finer: more blocks, and more threads of each along the depth.
int side_for(const ProductShape& shape, const cohort::cuda::CudaDevice& device) {
  constexpr int kMostTurns = 8;  // of a thread along the depth that are not worth more threads
  const std::int64_t enough = 2 * static_cast<std::int64_t>(device.multiprocessors());
  if (shape.k <= kMostTurns * SmallTile<16>::kTurn || tiles_of(shape, 8) > enough) return 16;
  return shape.k <= kMostTurns * SmallTile<8>::kTurn || tiles_of(shape, 4) > enough ? 8 : 4;
}

template <class T, class To, int kSide>
void launch_small(const ProductShape& shape, const SmallFinish& finish, const void* a, const void* b, void* c,
                  cudaStream_t stream) {
  const auto tiles = [](std::int64_t size) { return static_cast<int>((size + kSide - 1) / kSide); };
  const int row_tiles = tiles(finish.rows_of(shape)), column_tiles = tiles(shape.n);
  const auto blocks = static_cast<unsigned int>(shape.products() * row_tiles * column_tiles);
  multiply_small<T, To, kSide><<<blocks, kBlock, 0, stream>>>(shape, static_cast<const T*>(a), static_cast<const T*>(b),
                                                              static_cast<To*>(c), finish, row_tiles, column_tiles);
  cohort::cuda::check(cudaGetLastError());
}

template <class T, class To>
void launch_small(const ProductShape& shape, const SmallFinish& finish, const void* a, const void* b, void* c,
                  const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  if (is_shallow(shape, finish)) return launch_shallow<T, To>(shape, finish, a, b, c, stream);
  switch (side_for(shape, device)) {
    case 16:
      return launch_small<T, To, 16>(shape, finish, a, b, c, stream);
    case 8:
      return launch_small<T, To, 8>(shape, finish, a, b, c, stream);
    default:
      return launch_small<T, To, 4>(shape, finish, a, b, c, stream);
  }
}

}  // namespace

bool is_small_product(const ProductShape& shape) {
  // Multiplications that all blocks together have done within about a microsecond, and blocks that find room at once.
  constexpr std::int64_t kMostWork = std::int64_t{1} << 21, kMostDepth = 4096, kMostTiles = 2048;
  if (!is_floating(shape.operands) || shape.operands == DType::Float64 || shape.k > kMostDepth) return false;
  // Divided, not multiplied: a product of sizes need not fit.
  std::int64_t left = kMostWork;
  for (const std::int64_t size : {shape.m, shape.n, shape.k, shape.products()}) {
    if (size == 0) return false;
    left /= size;
  }
  return left > 0 && tiles_of(shape, 16) <= kMostTiles;
}

void enqueue_small_product(const ProductShape& shape, const RowFinish& finish, const void* a, const void* b, void* c,
                           const void* bias, const SmallSums& sums, const cohort::cuda::CudaDevice& device,
                           cudaStream_t stream) {
  const SmallFinish small{finish.has_bias() ? bias : nullptr, finish.wide_bias(), finish.activation(), sums};
  switch (shape.operands) {
    case DType::Float16:
      if (shape.result == DType::Float32) return launch_small<__half, float>(shape, small, a, b, c, device, stream);
      return launch_small<__half, __half>(shape, small, a, b, c, device, stream);
    case DType::BFloat16:
      if (shape.result == DType::Float32) {
        return launch_small<__nv_bfloat16, float>(shape, small, a, b, c, device, stream);
      }
      return launch_small<__nv_bfloat16, __nv_bfloat16>(shape, small, a, b, c, device, stream);
    default:
      return launch_small<float, float>(shape, small, a, b, c, device, stream);
  }
}

}  // namespace cohort::kernels::cuda
