#include "cohort/kernels/cuda/rows.h"

namespace cohort::kernels::cuda {
namespace {

// y = (x - mean) * r * gamma + beta, and the two statistics of each row.
template <class C, class Form>
__global__ void __launch_bounds__(RowPlan::kMostThreads)
    normalize_rows(TypedElements<C> x, TypedElements<C> gamma, TypedElements<C> beta, TypedElements<C> y, C* means,
                   C* scales, RowPlan plan, C epsilon) {
  __shared__ C shared[kMostWarps];
  using Chunk = typename Row<C, Form>::Chunk;
  Row<C, Form> row(plan, shared);
  row.read(x, C(0));
  C sum = 0;
  row.for_each([&](std::int64_t, auto& chunk) {
#pragma unroll
    for (auto& pack : chunk) {
#pragma unroll
      for (C each : pack) sum += each;
    }
  });
  const C mean = row.sum(sum) / static_cast<C>(plan.count);
  C squares = 0;
  row.for_each([&](std::int64_t first, auto& chunk) {
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) {
        const C distance = chunk[k][j] - mean;
        if (row.has(first, k)) squares += distance * distance;
      }
    }
  });
  const C r = C(1) / fn::sqrt(row.sum(squares) / static_cast<C>(plan.count) + epsilon);
  row.for_each([&](std::int64_t first, auto& chunk) {
    Chunk factors, shifts;
    row.load_shared(gamma, first, factors);
    row.load_shared(beta, first, shifts);
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) shifts[k][j] = (chunk[k][j] - mean) * r * factors[k][j] + shifts[k][j];
    }
    row.store(y, first, shifts);
  });
  if (!row.is_first()) return;
  means[row.index()] = mean;
  scales[row.index()] = r;
}

KernelFn make_layer_norm(const KernelSpec& spec) {
  const Shape &shape = spec.input(0).shape, &parameters = spec.input(1).shape;
  const std::int64_t rows = shape.slice(0, shape.rank() - parameters.rank()).num_elements();
  const DType x_type = spec.input(0).dtype, parameter_type = spec.input(1).dtype, y_type = spec.output(0).dtype;
  return visit_computed_floating(spec.output(1).dtype, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    const RowPlans<C> plans(rows, parameters.num_elements());
    return [=, epsilon = static_cast<C>(spec.attr<double>("epsilon"))](const KernelIO& io) {
      const TypedElements<C> x{io.inputs[0], x_type}, gamma{io.inputs[1], parameter_type},
          beta{io.inputs[2], parameter_type}, y{io.outputs[0], y_type};
      const RowPlan& plan = plans.choose(x, gamma, beta, y);
      visit_form<C>(plan, [&]<class Form>(Form) {
        normalize_rows<C, Form><<<plan.blocks(), plan.threads, 0, stream_of(io)>>>(x, gamma, beta, y, io.out<C>(1),
                                                                                   io.out<C>(2), plan, epsilon);
      });
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

COHORT_KERNEL("LayerNorm", kGPU, make_layer_norm);

}  // namespace
}  // namespace cohort::kernels::cuda
