#include "cohort/kernels/axis_split.h"
#include "cohort/kernels/cuda/softmax_rows.h"

namespace cohort::kernels::cuda {
namespace {

template <class C, class Form>
__global__ void __launch_bounds__(RowPlan::kMostThreads, RowPlan::kBlocks)
    softmax_rows(TypedElements<C> x, TypedElements<C> y, RowPlan plan, bool logarithm) {
  __shared__ C shared[kMostWarps];
  Row<C, Form> row(plan, shared);
  row.read(x, lowest<C>());
  const C max = row_max(row), sum = exp_sum(row, max, !logarithm);
  const C factor = C(1) / sum, log_sum = fn::log(sum);
  row.for_each([&](std::int64_t first, auto& chunk) {
#pragma unroll
    for (auto& pack : chunk) {
#pragma unroll
      for (C& each : pack) each = logarithm ? (each - max) - log_sum : exp_again<Form>(each, max) * factor;
    }
    row.store(y, first, chunk);
  });
}

// Rows along another axis than the last: a thread for each, neighbours beside each other.
template <class C>
void launch_columns(const TypedElements<C>& x, const TypedElements<C>& y, const AxisSplit& split, bool logarithm,
                    const cohort::cuda::CudaDevice& device, cudaStream_t stream) {
  const std::int64_t size = split.size, inner = split.inner;
  launch_each(split.outer * inner, device, stream, [=] __device__(std::int64_t column) {
    const std::int64_t first = column / inner * size * inner + column % inner;
    C max = lowest<C>(), sum = 0;
    for (std::int64_t k = 0; k < size; ++k) {
      const C each = x[first + k * inner];
      max = each > max ? each : max;
    }
    for (std::int64_t k = 0; k < size; ++k) sum += exp_of_negative(x[first + k * inner] - max);
    const C factor = C(1) / sum, log_sum = fn::log(sum);
    for (std::int64_t k = 0; k < size; ++k) {
      const C distance = x[first + k * inner] - max;
      y.set(first + k * inner, logarithm ? distance - log_sum : exp_of_negative(distance) * factor);
    }
  });
}

KernelFn make(const KernelSpec& spec, bool logarithm) {
  const Shape& shape = spec.input(0).shape;
  const AxisSplit split(shape, normalize_axis(spec.attr<int>("axis"), shape.rank(), spec.name()));
  const DType dtype = spec.input(0).dtype;
  const auto* device = &cohort::cuda::device_of(spec);
  if (spec.output_size(0) == 0) return [](const KernelIO&) {};
  return visit_computed_floating(dtype, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    if (split.inner > 1) {
      return [=](const KernelIO& io) {
        launch_columns<C>({io.inputs[0], dtype}, {io.outputs[0], dtype}, split, logarithm, *device, stream_of(io));
      };
    }
    const RowPlans<C> plans(split.outer, split.size);
    return [=](const KernelIO& io) {
      const TypedElements<C> x{io.inputs[0], dtype}, y{io.outputs[0], dtype};
      const RowPlan& plan = plans.choose(x, y);
      visit_form<C>(plan, [&]<class Form>(Form) {
        softmax_rows<C, Form><<<plan.blocks(), plan.threads, 0, stream_of(io)>>>(x, y, plan, logarithm);
      });
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

KernelFn make_softmax(const KernelSpec& spec) { return make(spec, false); }
KernelFn make_log_softmax(const KernelSpec& spec) { return make(spec, true); }

COHORT_KERNEL("Softmax", kGPU, make_softmax);
COHORT_KERNEL("LogSoftmax", kGPU, make_log_softmax);

}  // namespace
}  // namespace cohort::kernels::cuda
