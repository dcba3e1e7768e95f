#include "cohort/kernels/cuda/matrix_transpose.h"

#include "cohort/kernels/cuda/element.h"
#include "cohort/kernels/cuda/launch.h"

namespace cohort::kernels::cuda {
namespace {

constexpr int kSquare = 32, kSquareLines = 8;

// A block brings squares of the matrix through shared memory, so that both sides are read and written along lines.
template <class Word>
__global__ void __launch_bounds__(kSquare* kSquareLines)
    transpose(const Word* __restrict__ from, Word* __restrict__ to, std::int64_t rows, std::int64_t columns,
              std::int64_t across) {
  __shared__ Word square[kSquare][kSquare + 1];
  const std::int64_t first_row = blockIdx.x / across * kSquare, first_column = blockIdx.x % across * kSquare;
  const int x = static_cast<int>(threadIdx.x) % kSquare;
  for (int y = static_cast<int>(threadIdx.x) / kSquare; y < kSquare; y += kSquareLines) {
    if (first_row + y < rows && first_column + x < columns) {
      square[y][x] = from[(first_row + y) * columns + first_column + x];
    }
  }
  __syncthreads();
  for (int y = static_cast<int>(threadIdx.x) / kSquare; y < kSquare; y += kSquareLines) {
    if (first_column + y < columns && first_row + x < rows) {
      to[(first_column + y) * rows + first_row + x] = square[x][y];
    }
  }
}

}  // namespace

void enqueue_transpose(const void* from, void* to, std::int64_t rows, std::int64_t columns, std::size_t element_bytes,
                       cudaStream_t stream) {
  const std::int64_t down = (rows + kSquare - 1) / kSquare, across = (columns + kSquare - 1) / kSquare;
  if (down * across == 0) return;
  visit_bytes(element_bytes, [&](auto type) {
    using Word = typename decltype(type)::type;
    transpose<Word><<<static_cast<unsigned int>(down * across), kSquare * kSquareLines, 0, stream>>>(
        static_cast<const Word*>(from), static_cast<Word*>(to), rows, columns, across);
  });
  cohort::cuda::check(cudaGetLastError());
}

}  // namespace cohort::kernels::cuda
