#pragma once

#include <algorithm>
#include <cstdint>

#include "cohort/kernels/cuda/groups.h"
#include "cohort/kernels/cuda/row_loads.h"
#include "cohort/kernels/cuda/typed_elements.h"

namespace cohort::kernels::cuda {

// Rows that are short enough for a warp to hold one in its registers, and of a type that is computed in float. Warps
// need no barriers, and a row's next one is on its way while the row is worked on.
struct WarpRows {
  static constexpr int kThreads = 256, kWarps = kThreads / kWarp;
  // Shorter rows leave lanes without work.
  static constexpr std::int64_t kLeast = 4 * kWarp, kMost = 32 * kWarp;

  // Whether each lane can move as many elements of this type at a time as one access does.
  bool fit(DType dtype) const {
    const auto count = static_cast<std::int64_t>(kAccessBytes / size_of(dtype));
    return dtype != DType::Float64 && rows > 0 && width > kLeast && width <= kMost && width % count == 0;
  }
  // Blocks that give each row a warp, at most this many.
  unsigned int blocks(std::int64_t most) const {
    return static_cast<unsigned int>(std::min((rows + kWarps - 1) / kWarps, most));
  }

  std::int64_t rows, width;
};

// A lane's part of a row: kLaneElements as they are stored. A warp's packs lie side by side; elements beyond the row's
// end are zeros.
template <class T, int kLaneElements>
struct WarpRow : StoredPacks<T, kLaneElements / kPerAccess<T>> {
  using Packs = StoredPacks<T, kLaneElements / kPerAccess<T>>;
  using Stored = T;
  using Packs::kCount, Packs::kPacks;
  static constexpr int kElements = kLaneElements;
  static_assert(kPacks * kCount == kElements);

  static __device__ int lane() { return static_cast<int>(threadIdx.x) % kWarp; }
  // Where the row has element e of a lane.
  static __device__ int column(int e, int lane) { return (e / kCount * kWarp + lane) * kCount + e % kCount; }
  // Whether a row of this width has pack k of the lane: all of its elements or none.
  static __device__ bool has(int k, int width) { return column(k * kCount, lane()) < width; }

  __device__ void load(const T* row, int width) {
    Packs::load(
        row, [](int k) { return column(k * kCount, lane()); }, [&](int k) { return has(k, width); });
  }
  // `write(k, values)` says what pack k becomes.
  template <class Write>
  __device__ static void store(T* row, int width, const Write& write) {
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      float values[kCount];
      write(k, values);
      Pack<T, kCount> pack;
#pragma unroll
      for (int j = 0; j < kCount; ++j) pack.values[j] = narrowed<T>(values[j]);
      if (has(k, width)) *reinterpret_cast<Pack<T, kCount>*>(row + column(k * kCount, lane())) = pack;
    }
  }
  __device__ float operator[](int e) const { return this->element(e / kCount, e % kCount); }
};

// A row in a block's memory that its warps combine their rows with: four elements of each lane side by side, so that
// reading them takes no longer than it must.
template <class Held>
struct SharedRow {
  static constexpr int kQuads = Held::kElements / 4;

  // All threads of the block, with a barrier afterwards.
  __device__ void fill(const TypedElements<float>& x, int width) {
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < kQuads * kWarp; i += WarpRows::kThreads) {
      const int quad = i / kWarp, lane = i % kWarp, column = Held::column(4 * quad, lane);
      float values[1][4];
      x.load([&](int) { return column; }, [&](int) { return column < width; }, values, 0.0f);
      quads[quad][lane] = make_float4(values[0][0], values[0][1], values[0][2], values[0][3]);
    }
  }
  // The lane's elements of pack k.
  __device__ void read(int k, float (&values)[Held::kCount]) const {
#pragma unroll
    for (int q = 0; q < Held::kCount / 4; ++q) {
      const float4 quad = quads[k * (Held::kCount / 4) + q][Held::lane()];
      values[4 * q] = quad.x;
      values[4 * q + 1] = quad.y;
      values[4 * q + 2] = quad.z;
      values[4 * q + 3] = quad.w;
    }
  }

  float4 quads[kQuads][kWarp];
};

// Calls `visit(Type<WarpRow<T, kElements>>{})` for rows that fit.
template <class Visit>
void visit_warp_rows(DType dtype, std::int64_t width, const Visit& visit) {
  visit_floating(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (!std::is_same_v<T, double>) {
      if (width <= 16 * kWarp) {
        visit(Type<WarpRow<T, 16>>{});
      } else if (width <= 24 * kWarp) {
        visit(Type<WarpRow<T, 24>>{});
      } else {
        visit(Type<WarpRow<T, 32>>{});
      }
    }
  });
}

}  // namespace cohort::kernels::cuda
