#include <utility>

#include "cohort/kernels/cuda/row_packs.h"
#include "cohort/kernels/cuda/rows.h"

namespace cohort::kernels::cuda {
namespace {

// What the kernels read and write: (dy, x, gamma, mean, r) -> (dx, dgamma, dbeta). While blocks have parts of the sums
// for gamma and beta, row number `block` of `parts` holds both.
template <class C, class T = void>
struct Tensors {
  TypedElements<C, T> dy, x;
  TypedElements<C> gamma;
  const C *means, *scales;
  TypedElements<C, T> dx;
  TypedElements<C> dgamma, dbeta;
  C* parts;
  std::int64_t width;

  template <class Stored>
  Tensors<C, Stored> as() const {
    return {dy.template as<Stored>(),
            x.template as<Stored>(),
            gamma,
            means,
            scales,
            dx.template as<Stored>(),
            dgamma,
            dbeta,
            parts,
            width};
  }
  // Element i of dgamma followed by dbeta.
  __device__ void write_sum(std::int64_t block, std::int64_t i, C sum) const {
    if (parts) {
      parts[block * 2 * width + i] = sum;
    } else if (i < width) {
      dgamma.set(i, sum);
    } else {
      dbeta.set(i - width, sum);
    }
  }
};

// As many multiprocessors as a large GPU has: a number that results may depend on.
inline constexpr std::int64_t kLargeGpu = 132;

// Rows whose elements fit into registers are walked over by a few blocks, each of which holds the sums of its columns:
// as many `parts` of dgamma and dbeta as there are blocks. The columns of others are added up by themselves.
struct WalkPlan : RowPlan {
  WalkPlan(std::int64_t rows, std::int64_t count, int width, bool one_type)
      : RowPlan(rows, count, width), one_type(one_type) {
    // As many blocks as run at the same time.
    constexpr std::int64_t kThreads = 512;
    constexpr std::int64_t kRowsOfPart = 64, kMostParts = 64;
    walkers = std::min<std::int64_t>(blocks(), kLargeGpu * (kThreads / threads));
    parts = walks() ? walkers : std::clamp<std::int64_t>(rows / kRowsOfPart, 1, kMostParts);
  }
  // Only rows of one type can be held by several packs.
  bool walks() const { return is_kept && rows > 0 && (one_type || packs_of_thread == 1); }
  // Whether the sums go through working memory: a block that takes one row at a time has no other place for them.
  bool has_parts() const { return parts > 1 || (walks() && rows_of_block() == 1); }
  std::size_t shared_elements() const {
    return rows_of_block() == 1 ? 0 : 2 * static_cast<std::size_t>(rows_of_block()) * static_cast<std::size_t>(count);
  }
  bool one_type;
  std::int64_t walkers, parts;
};

template <class C, class T, class Form>
__global__ void __launch_bounds__(RowPlan::kMostThreads) walk_rows(Tensors<C, T> tensors, WalkPlan plan) {
  __shared__ C shared[kMostWarps];
  extern __shared__ __align__(16) unsigned char memory[];
  using Chunk = typename Row<C, Form>::Chunk;
  const int rows_of_block = static_cast<int>(blockDim.x) / plan.group;
  const int row_of_block = static_cast<int>(threadIdx.x) / plan.group;
  const C count = static_cast<C>(plan.count);
  Row<C, Form> row(plan, shared);
  Chunk dgamma = {}, dbeta = {}, gamma;
  row.take(0, plan);
  row.load_shared(tensors.gamma, 0, gamma);
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * rows_of_block; first < plan.rows;
       first += static_cast<std::int64_t>(gridDim.x) * rows_of_block) {
    row.take(first + row_of_block, plan);
    Chunk g, h;
    row.load(tensors.dy, 0, g, C(0));
    row.load(tensors.x, 0, h, C(0));
    const C mean = row.exists() ? tensors.means[row.index()] : C(0);
    const C r = row.exists() ? tensors.scales[row.index()] : C(0);
    C flow = 0, product = 0;
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) {
        h[k][j] = (h[k][j] - mean) * r;
        dgamma[k][j] += g[k][j] * h[k][j];
        dbeta[k][j] += g[k][j];
        g[k][j] = g[k][j] * gamma[k][j];
        flow += g[k][j];
        product += g[k][j] * h[k][j];
      }
    }
    flow = row.sum(flow) / count;
    product = row.sum(product) / count;
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) g[k][j] = r * (g[k][j] - flow - h[k][j] * product);
    }
    row.store(tensors.dx, 0, g);
  }

  // One row of sums for each row that the block takes at a time.
  C* sums = rows_of_block == 1 ? tensors.parts + static_cast<std::int64_t>(blockIdx.x) * 2 * plan.count
                               : reinterpret_cast<C*>(memory) + row_of_block * 2 * plan.count;
#pragma unroll
  for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
    for (int j = 0; j < Form::kCount; ++j) {
      const std::int64_t column = row.position(0, k, j);
      if (column >= plan.count) continue;
      sums[column] = dgamma[k][j];
      sums[plan.count + column] = dbeta[k][j];
    }
  }
  if (rows_of_block == 1) return;
  __syncthreads();
  sums = reinterpret_cast<C*>(memory);
  for (std::int64_t i = threadIdx.x; i < 2 * plan.count; i += blockDim.x) {
    C sum = 0;
    for (int k = 0; k < rows_of_block; ++k) sum += sums[k * 2 * plan.count + i];
    tensors.write_sum(blockIdx.x, i, sum);
  }
}

// Blocks that a multiprocessor shall hold at a time, and whether warps ask for a row before they are done with the
// last: as registers allow, most of which have the sums.
template <class Held>
inline constexpr int kWalkedBlocks = sizeof(typename Held::Stored) > 2 && Held::kElements > 24 ? 1 : 2;
template <class Held>
inline constexpr bool kAsksAhead = sizeof(typename Held::Stored) == 2 && Held::kElements <= 24;

// What a warp reads of a row.
template <class Held>
struct HeldRow {
  using T = typename Held::Stored;

  __device__ void load(const Tensors<float, T>& tensors, std::int64_t row, int width) {
    const std::int64_t start = row * width;
    dy.load(static_cast<const T*>(tensors.dy.memory) + start, width);
    x.load(static_cast<const T*>(tensors.x.memory) + start, width);
    mean = tensors.means[row];
    r = tensors.scales[row];
  }

  Held dy, x;
  float mean, r;
};

// Two sums of all lanes of a warp.
struct FlowSums {
  float flow, product;
};
__device__ FlowSums sum_of_warp(const FlowSums& sums) {
  return merge_group(sums, kWarp, static_cast<FlowSums*>(nullptr), [](const FlowSums& a, const FlowSums& b) {
    return FlowSums{a.flow + b.flow, a.product + b.product};
  });
}

// A warp's sums for gamma and beta, by lanes as its rows.
template <class Held>
struct HeldSums {
  using Place = float[2][Held::kElements][kWarp];

  __device__ void write(Place& place) const {
#pragma unroll
    for (int e = 0; e < Held::kElements; ++e) {
      place[0][e][Held::lane()] = dgamma[e];
      place[1][e][Held::lane()] = dbeta[e];
    }
  }
  __device__ void add(const Place& place) {
#pragma unroll
    for (int e = 0; e < Held::kElements; ++e) {
      dgamma[e] += place[0][e][Held::lane()];
      dbeta[e] += place[1][e][Held::lane()];
    }
  }

  float dgamma[Held::kElements] = {}, dbeta[Held::kElements] = {};
};

// What walk_rows does, of rows that warps hold.
template <class Held, class T = typename Held::Stored>
__global__ void __launch_bounds__(WarpRows::kThreads, kWalkedBlocks<Held>)
    walk_held_rows(const Tensors<float, T> tensors, WarpRows rows) {
  constexpr int kCount = Held::kCount;
  __shared__ SharedRow<Held> gammas;
  __shared__ typename HeldSums<Held>::Place places[WarpRows::kWarps / 2];
  const int width = static_cast<int>(rows.width), warp = static_cast<int>(threadIdx.x) / kWarp;
  const float count = static_cast<float>(width);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * WarpRows::kWarps;
  std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * WarpRows::kWarps + warp;
  HeldRow<Held> row, next;
  HeldSums<Held> sums;
  if (kAsksAhead<Held> && index < rows.rows) next.load(tensors, index, width);
  gammas.fill(tensors.gamma, width);
  __syncthreads();
  for (; index < rows.rows; index += stride) {
    if constexpr (kAsksAhead<Held>) {
      row = next;
      if (index + stride < rows.rows) next.load(tensors, index + stride, width);
    } else {
      row.load(tensors, index, width);
    }
    FlowSums totals{0, 0};
#pragma unroll
    for (int k = 0; k < Held::kPacks; ++k) {
      float gamma[kCount];
      gammas.read(k, gamma);
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        const int e = k * kCount + j;
        const float dy = row.dy[e], h = (row.x[e] - row.mean) * row.r, g = dy * gamma[j];
        sums.dgamma[e] += dy * h;
        sums.dbeta[e] += dy;
        totals.flow += g;
        totals.product += g * h;
      }
    }
    totals = sum_of_warp(totals);
    const float flow = totals.flow / count, product = totals.product / count;
    row.dy.stay_packed();
    row.x.stay_packed();
    Held::store(static_cast<T*>(tensors.dx.memory) + index * width, width, [&](int k, float(&dx)[kCount]) {
      float gamma[kCount];
      gammas.read(k, gamma);
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        const int e = k * kCount + j;
        dx[j] = row.r * (row.dy[e] * gamma[j] - flow - (row.x[e] - row.mean) * row.r * product);
      }
    });
  }

  for (int half = WarpRows::kWarps / 2; half > 0; half /= 2) {
    if (warp >= half && warp < 2 * half) sums.write(places[warp - half]);
    __syncthreads();
    if (warp < half) sums.add(places[warp]);
    __syncthreads();
  }
  if (warp == 0) sums.write(places[0]);
  __syncthreads();
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < 2 * width; i += WarpRows::kThreads) {
    const int of_beta = i >= width, column = i - of_beta * width, pack = column / kCount;
    const float sum = places[0][of_beta][pack / kWarp * kCount + column % kCount][pack % kWarp];
    tensors.write_sum(blockIdx.x, i, sum);
  }
}

// Longer rows: dx in two passes over each.
template <class C, class Form>
__global__ void __launch_bounds__(RowPlan::kMostThreads) pass_rows(Tensors<C> tensors, RowPlan plan) {
  __shared__ C shared[kMostWarps];
  using Chunk = typename Row<C, Form>::Chunk;
  Row<C, Form> row(plan, shared);
  row.read(tensors.x, C(0));
  const C mean = row.exists() ? tensors.means[row.index()] : C(0);
  const C r = row.exists() ? tensors.scales[row.index()] : C(0);
  // Leaves g = dy * gamma in `g` and h = (x - mean) * r in `h`.
  const auto prepare = [&](std::int64_t first, Chunk& g, Chunk& h) {
    Chunk gamma;
    row.load(tensors.dy, first, g, C(0));
    row.load_shared(tensors.gamma, first, gamma);
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) {
        g[k][j] *= gamma[k][j];
        h[k][j] = (h[k][j] - mean) * r;
      }
    }
  };
  C flow = 0, product = 0;
  row.for_each([&](std::int64_t first, Chunk& h) {
    Chunk g;
    prepare(first, g, h);
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) {
        flow += g[k][j];
        product += g[k][j] * h[k][j];
      }
    }
  });
  flow = row.sum(flow) / static_cast<C>(plan.count);
  product = row.sum(product) / static_cast<C>(plan.count);
  row.for_each([&](std::int64_t first, Chunk& h) {
    Chunk g;
    prepare(first, g, h);
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) g[k][j] = r * (g[k][j] - flow - h[k][j] * product);
    }
    row.store(tensors.dx, first, g);
  });
}

// Their sums for gamma and beta: a thread for each column, blocks in y for parts of the rows.
template <class C>
__global__ void __launch_bounds__(kBlock) add_columns(Tensors<C> tensors, std::int64_t rows, std::int64_t part_rows) {
  const std::int64_t begin = blockIdx.y * part_rows, end = min(begin + part_rows, rows);
  COHORT_EACH(column, tensors.width) {
    C dgamma = 0, dbeta = 0;
#pragma unroll 4
    for (std::int64_t row = begin; row < end; ++row) {
      const C dy = tensors.dy[row * tensors.width + column], x = tensors.x[row * tensors.width + column];
      dgamma += dy * ((x - tensors.means[row]) * tensors.scales[row]);
      dbeta += dy;
    }
    tensors.write_sum(blockIdx.y, column, dgamma);
    tensors.write_sum(blockIdx.y, tensors.width + column, dbeta);
  }
}

// Adds the parts up: a warp's width of columns for each block, its warps share the parts.
template <class C>
__global__ void __launch_bounds__(kWarp* kMostWarps) add_parts(Tensors<C> tensors, const C* parts, int count) {
  __shared__ C sums[kMostWarps][kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t columns = 2 * tensors.width, column = static_cast<std::int64_t>(blockIdx.x) * kWarp + lane;
  C sum = 0;
  if (column < columns) {
#pragma unroll 4
    for (int part = warp; part < count; part += kMostWarps) sum += parts[part * columns + column];
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || column >= columns) return;
  for (int k = 1; k < kMostWarps; ++k) sum += sums[k][lane];
  tensors.write_sum(0, column, sum);
}

template <class C>
void launch_add_parts(Tensors<C> tensors, int count, cudaStream_t stream) {
  const C* parts = std::exchange(tensors.parts, nullptr);
  const auto blocks = static_cast<unsigned int>((2 * tensors.width + kWarp - 1) / kWarp);
  add_parts<C><<<blocks, kWarp * kMostWarps, 0, stream>>>(tensors, parts, count);
  cohort::cuda::check(cudaGetLastError());
}

template <class Form, class C, class T>
void launch_form(const WalkPlan& plan, const Tensors<C, T>& tensors, cudaStream_t stream) {
  walk_rows<C, T, Form>
      <<<static_cast<unsigned int>(plan.walkers), plan.threads, plan.shared_elements() * sizeof(C), stream>>>(tensors,
                                                                                                              plan);
}

// Threads that hold much have no registers left for what a type that is looked at while they run takes.
template <class C>
void launch_walk(const WalkPlan& plan, const Tensors<C>& tensors, cudaStream_t stream) {
  if constexpr (kWidth < C >> 1) {
    using Several = RowForm<RowPlan::kPacks, kWidth<C>, true>;
    if (plan.packs_of_thread > 1) {
      if (tensors.x.dtype == DType::Float32) {
        launch_form<Several>(plan, tensors.template as<float>(), stream);
      } else if (tensors.x.dtype == DType::BFloat16) {
        launch_form<Several>(plan, tensors.template as<__nv_bfloat16>(), stream);
      } else {
        launch_form<Several>(plan, tensors.template as<__half>(), stream);
      }
    } else if (plan.width > 1) {
      launch_form<RowForm<1, kWidth<C>, true>>(plan, tensors, stream);
    } else {
      launch_form<RowForm<1, 1, true>>(plan, tensors, stream);
    }
  } else {
    launch_form<RowForm<1, 1, true>>(plan, tensors, stream);
  }
  cohort::cuda::check(cudaGetLastError());
}

// As many blocks as run at the same time walk over the rows.
template <class Held>
unsigned int held_blocks(const WarpRows& rows) {
  return rows.blocks(kLargeGpu * kWalkedBlocks<Held>);
}
// Parts of dgamma and dbeta that there will be.
inline std::int64_t held_parts(DType dtype, const WarpRows& rows) {
  std::int64_t parts = 0;
  if (rows.fit(dtype)) {
    visit_warp_rows(dtype, rows.width, [&]<class Held>(Type<Held>) { parts = held_blocks<Held>(rows); });
  }
  return parts;
}
inline void launch_held_walk(const WarpRows& rows, const Tensors<float>& tensors, cudaStream_t stream) {
  visit_warp_rows(tensors.x.dtype, rows.width, [&]<class Held>(Type<Held>) {
    walk_held_rows<Held><<<held_blocks<Held>(rows), WarpRows::kThreads, 0, stream>>>(
        tensors.template as<typename Held::Stored>(), rows);
  });
  cohort::cuda::check(cudaGetLastError());
}

template <class C>
void launch_passes(const WalkPlan& plan, const Tensors<C>& tensors, const cohort::cuda::CudaDevice& device,
                   cudaStream_t stream) {
  visit_passing_form<C>(
      plan, [&]<class Form>(Form) { pass_rows<C, Form><<<plan.blocks(), plan.threads, 0, stream>>>(tensors, plan); });
  cohort::cuda::check(cudaGetLastError());
  const dim3 blocks(static_cast<unsigned int>(blocks_for(plan.count, device)), static_cast<unsigned int>(plan.parts));
  add_columns<C><<<blocks, kBlock, 0, stream>>>(tensors, plan.rows, (plan.rows + plan.parts - 1) / plan.parts);
  cohort::cuda::check(cudaGetLastError());
}

KernelFn make_layer_norm_grad(const KernelSpec& spec) {
  const Shape &shape = spec.input(1).shape, &parameters = spec.input(2).shape;
  const std::int64_t rows = shape.slice(0, shape.rank() - parameters.rank()).num_elements();
  const std::int64_t width = parameters.num_elements();
  const DType dy_type = spec.input(0).dtype, x_type = spec.input(1).dtype, parameter_type = spec.input(2).dtype,
              dx_type = spec.output(0).dtype;
  auto* device = &cohort::cuda::device_of(spec);
  if (width == 0) return [](const KernelIO&) {};
  return visit_computed_floating(spec.input(3).dtype, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    const bool one_type = dy_type == x_type && x_type == dx_type;
    const WalkPlan packed(rows, width, kWidth<C>, one_type), single(rows, width, 1, one_type);
    const WarpRows warp_rows{rows, width};
    const std::int64_t warp_parts = one_type && std::is_same_v<C, float> ? held_parts(x_type, warp_rows) : 0;
    const std::int64_t most_parts = std::max({packed.parts, single.parts, warp_parts});
    device->reserve_workspace(static_cast<std::size_t>(most_parts * 2 * width) * sizeof(C));
    return [=](const KernelIO& io) {
      Tensors<C> tensors{{io.inputs[0], dy_type},
                         {io.inputs[1], x_type},
                         {io.inputs[2], parameter_type},
                         io.in<C>(3),
                         io.in<C>(4),
                         {io.outputs[0], dx_type},
                         {io.outputs[1], parameter_type},
                         {io.outputs[2], parameter_type},
                         nullptr,
                         width};
      if constexpr (std::is_same_v<C, float>) {
        if (warp_parts > 0 && is_aligned(tensors.dy.memory) && is_aligned(tensors.x.memory) &&
            is_aligned(tensors.dx.memory) && tensors.gamma.is_packed()) {
          if (warp_parts > 1) tensors.parts = static_cast<C*>(device->workspace());
          launch_held_walk(warp_rows, tensors, stream_of(io));
          if (warp_parts > 1) launch_add_parts(tensors, static_cast<int>(warp_parts), stream_of(io));
          return;
        }
      }
      const bool can_pack = width % kWidth<C> == 0 && tensors.dy.is_packed() && tensors.x.is_packed() &&
                            tensors.gamma.is_packed() && tensors.dx.is_packed();
      const WalkPlan& plan = can_pack ? packed : single;
      if (plan.has_parts()) tensors.parts = static_cast<C*>(device->workspace());
      if (plan.walks()) {
        launch_walk(plan, tensors, stream_of(io));
      } else {
        launch_passes(plan, tensors, *device, stream_of(io));
      }
      if (plan.has_parts()) launch_add_parts(tensors, static_cast<int>(plan.parts), stream_of(io));
    };
  });
}

COHORT_KERNEL("LayerNormGrad", kGPU, make_layer_norm_grad);

}  // namespace
}  // namespace cohort::kernels::cuda
