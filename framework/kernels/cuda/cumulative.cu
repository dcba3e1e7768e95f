#include "cohort/kernels/axis_split.h"
#include "cohort/kernels/cuda/groups.h"
#include "cohort/kernels/cuda/launch.h"
#include "cohort/kernels/cuda/typed_elements.h"

namespace cohort::kernels::cuda {
namespace {

constexpr int kScanThreads = 256;
// Steps that a thread takes at a time, alone and as one of a block.
constexpr int kSteps = 8, kStepsInBlock = 4;

// The elements along an axis, in the order in which they are taken.
struct Order {
  std::int64_t size, inner, columns;
  bool exclusive, reverse;

  explicit Order(const KernelSpec& spec)
      : exclusive(spec.attr<bool>("exclusive")), reverse(spec.attr<bool>("reverse")) {
    const AxisSplit split(spec.input(0).shape, spec.attr<int>("axis"));
    size = split.size, inner = split.inner, columns = split.outer * split.inner;
  }
  __device__ std::int64_t start(std::int64_t column) const {
    return inner == 1 ? column * size : column / inner * size * inner + column % inner;
  }
  __device__ std::int64_t place(std::int64_t step) const { return (reverse ? size - 1 - step : step) * inner; }
  unsigned int blocks() const { return static_cast<unsigned int>((columns + kScanThreads - 1) / kScanThreads); }
  bool is_empty() const { return size * columns == 0; }
  // Whether a block for each column is worth it: elements lie side by side, or there are too few columns.
  bool is_for_blocks() const { return (inner == 1 && size > kWarp) || (size > kScanThreads && columns < 2048); }
};

// Running values, a thread for each column: `Merge` combines the value so far with the next element.
template <class C, class Merge>
__global__ void __launch_bounds__(kScanThreads)
    scan_columns(TypedElements<C> x, TypedElements<C> y, Order order, C so_far) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kScanThreads + threadIdx.x;
  if (column >= order.columns) return;
  const std::int64_t start = order.start(column);
  for (std::int64_t first = 0; first < order.size; first += kSteps) {
    const auto at = [&](int k) { return start + order.place(first + k); };
    const auto exists = [&](int k) { return first + k < order.size; };
    C values[kSteps][1];
    x.load(at, exists, values, C(0));
#pragma unroll
    for (auto& value : values) {
      const C before = so_far;
      so_far = Merge{}(before, value[0]);
      value[0] = order.exclusive ? before : so_far;
    }
    y.store(at, exists, values);
  }
}

// The same, a block for each column. A is what runs of elements are combined in.
template <class C, class A, class Merge>
__global__ void __launch_bounds__(kScanThreads)
    scan_in_block(TypedElements<C> x, TypedElements<C> y, Order order, A neutral) {
  __shared__ A shared[kMostWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  const std::int64_t start = order.start(blockIdx.x);
  A so_far = neutral;
  for (std::int64_t tile = 0; tile < order.size; tile += static_cast<std::int64_t>(blockDim.x) * kStepsInBlock) {
    const std::int64_t first = tile + static_cast<std::int64_t>(threadIdx.x) * kStepsInBlock;
    const auto at = [&](int k) { return start + order.place(first + k); };
    const auto exists = [&](int k) { return first + k < order.size; };
    C values[kStepsInBlock][1];
    x.load(at, exists, values, static_cast<C>(neutral));

    A own = neutral;
#pragma unroll
    for (auto& value : values) own = Merge{}(own, static_cast<A>(value[0]));
    A up_to_here = own;
    for (int distance = 1; distance < kWarp; distance *= 2) {
      const A before = from_lane_before(up_to_here, distance);
      if (lane >= distance) up_to_here = Merge{}(before, up_to_here);
    }
    if (lane == kWarp - 1) shared[warp] = up_to_here;
    __syncthreads();
    A before = so_far;
    for (int k = 0; k < warps; ++k) {
      if (k == warp) before = so_far;
      so_far = Merge{}(so_far, shared[k]);
    }
    const A in_warp = from_lane_before(up_to_here, 1);
    if (lane > 0) before = Merge{}(before, in_warp);
#pragma unroll
    for (auto& value : values) {
      const A after = Merge{}(before, static_cast<A>(value[0]));
      value[0] = static_cast<C>(order.exclusive ? before : after);
      before = after;
    }
    y.store(at, exists, values);
    __syncthreads();  // before the next tile's values take the place of these
  }
}

template <class Merge, int kStart>
KernelFn make_cumulative(const KernelSpec& spec) {
  const Order order(spec);
  const DType dtype = spec.input(0).dtype;
  if (order.is_empty()) return [](const KernelIO&) {};
  return visit_computed(dtype, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    // A product of some elements alone must not leave the range that the product of all stays in.
    using A = std::conditional_t<std::is_same_v<Merge, fn::Multiply> && std::is_same_v<C, float>, double, C>;
    return [=](const KernelIO& io) {
      const TypedElements<C> x{io.inputs[0], dtype}, y{io.outputs[0], dtype};
      if (order.is_for_blocks()) {
        const int threads = order.size <= kWarp * kStepsInBlock ? kWarp : kScanThreads;
        scan_in_block<C, A, Merge>
            <<<static_cast<unsigned int>(order.columns), threads, 0, stream_of(io)>>>(x, y, order, A(kStart));
      } else {
        scan_columns<C, Merge><<<order.blocks(), kScanThreads, 0, stream_of(io)>>>(x, y, order, C(kStart));
      }
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

// s = b + a * s, step by step: a product of many factors could leave the range of numbers where no s does.
template <class C>
__global__ void __launch_bounds__(kScanThreads)
    linear_scan(TypedElements<C> a, TypedElements<C> b, TypedElements<C> y, Order order, bool shift) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kScanThreads + threadIdx.x;
  if (column >= order.columns) return;
  const std::int64_t start = order.start(column);
  C so_far = 0, factor = 0;
  for (std::int64_t first = 0; first < order.size; first += kSteps) {
    const auto at = [&](int k) { return start + order.place(first + k); };
    const auto exists = [&](int k) { return first + k < order.size; };
    C factors[kSteps][1], values[kSteps][1];
    a.load(at, exists, factors, C(0));
    b.load(at, exists, values, C(0));
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      const C before = so_far, own = factors[k][0];
      so_far = fn::Add{}(values[k][0], fn::Multiply{}(shift ? factor : own, before));
      factor = own;
      values[k][0] = order.exclusive ? before : so_far;
    }
    y.store(at, exists, values);
  }
}

KernelFn make_linear_scan(const KernelSpec& spec) {
  const Order order(spec);
  const DType dtype = spec.input(0).dtype;
  if (order.is_empty()) return [](const KernelIO&) {};
  return visit_computed(dtype, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    return [=, shift = spec.attr<bool>("shift")](const KernelIO& io) {
      linear_scan<C><<<order.blocks(), kScanThreads, 0, stream_of(io)>>>({io.inputs[0], dtype}, {io.inputs[1], dtype},
                                                                         {io.outputs[0], dtype}, order, shift);
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

COHORT_KERNEL("Cumsum", kGPU, (make_cumulative<fn::Add, 0>));
COHORT_KERNEL("Cumprod", kGPU, (make_cumulative<fn::Multiply, 1>));
COHORT_KERNEL("LinearScan", kGPU, make_linear_scan);

}  // namespace
}  // namespace cohort::kernels::cuda
