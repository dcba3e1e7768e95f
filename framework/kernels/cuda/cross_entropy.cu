#include "cohort/kernels/cuda/checked_labels.h"
#include "cohort/kernels/cuda/softmax_rows.h"

namespace cohort::kernels::cuda {
namespace {

#define COHORT_ROW_KERNEL __global__ void __launch_bounds__(RowPlan::kMostThreads, RowPlan::kBlocks)

// What an element adds to its row's loss. A label of zero takes no part: 0 * -inf must not become NaN.
template <class C>
__device__ C entropy_of(C wanted, C x, C max, C log_sum) {
  return wanted == C(0) ? C(0) : wanted * (log_sum - (x - max));
}

template <class C, class Form>
COHORT_ROW_KERNEL dense_loss(TypedElements<C> x, TypedElements<C> labels, TypedElements<C> losses, RowPlan plan) {
  __shared__ C shared[kMostWarps];
  Row<C, Form> row(plan, shared);
  row.read(x, lowest<C>());
  const C max = row_max(row), log_sum = fn::log(exp_sum(row, max, false));
  C loss = 0;
  row.for_each([&](std::int64_t first, auto& chunk) {
    typename Row<C, Form>::Chunk wanted;
    row.load(labels, first, wanted, C(0));
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) loss += entropy_of(wanted[k][j], chunk[k][j], max, log_sum);
    }
  });
  loss = row.sum(loss);
  if (row.is_first()) losses.set(row.index(), loss);
}

template <class C, class Form>
__global__ void __launch_bounds__(RowPlan::kMostThreads)
    dense_gradient(TypedElements<C> dlosses, TypedElements<C> x, TypedElements<C> labels, TypedElements<C> dx,
                   RowPlan plan, bool distribution) {
  __shared__ C shared[kMostWarps];
  using Chunk = typename Row<C, Form>::Chunk;
  Row<C, Form> row(plan, shared);
  row.read(x, lowest<C>());
  const C max = row_max(row), sum = exp_sum(row, max, true);
  C mass = 1;
  if (!distribution) {
    mass = 0;
    row.for_each([&](std::int64_t first, auto&) {
      Chunk wanted;
      row.load(labels, first, wanted, C(0));
#pragma unroll
      for (auto& pack : wanted) {
#pragma unroll
        for (C each : pack) mass += each;
      }
    });
    mass = row.sum(mass);
  }
  const C weight = mass / sum, dy = row.exists() ? dlosses[row.index()] : C(0);
  row.for_each([&](std::int64_t first, auto& chunk) {
    Chunk wanted;
    row.load(labels, first, wanted, C(0));
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) {
        wanted[k][j] = dy * (exp_again<Form>(chunk[k][j], max) * weight - wanted[k][j]);
      }
    }
    row.store(dx, first, wanted);
  });
}

// The loss, and what flows to the logits, which may be written over them: an element is read by the thread that writes
// to its place.
template <class C, class Form>
__global__ void __launch_bounds__(RowPlan::kMostThreads)
    dense_both(TypedElements<C> dlosses, TypedElements<C> x, TypedElements<C> labels, TypedElements<C> dx,
               TypedElements<C> losses, RowPlan plan, bool distribution) {
  __shared__ C shared[kMostWarps];
  using Chunk = typename Row<C, Form>::Chunk;
  Row<C, Form> row(plan, shared);
  row.read(x, lowest<C>());
  const C max = row_max(row), sum = exp_sum(row, max, false), log_sum = fn::log(sum);
  C loss = 0, mass = 0;
  row.for_each([&](std::int64_t first, auto& chunk) {
    Chunk wanted;
    row.load(labels, first, wanted, C(0));
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) {
        loss += entropy_of(wanted[k][j], chunk[k][j], max, log_sum);
        mass += wanted[k][j];
      }
    }
  });
  loss = row.sum(loss);
  mass = distribution ? C(1) : row.sum(mass);
  if (row.is_first()) losses.set(row.index(), loss);
  const C weight = mass / sum, dy = row.exists() ? dlosses[row.index()] : C(0);
  row.for_each([&](std::int64_t first, auto& chunk) {
    Chunk wanted;
    row.load(labels, first, wanted, C(0));
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) {
        wanted[k][j] = dy * (exp_of_negative(chunk[k][j] - max) * weight - wanted[k][j]);
      }
    }
    row.store(dx, first, wanted);
  });
}

template <class C, class Form>
COHORT_ROW_KERNEL sparse_loss(TypedElements<C> x, CheckedLabels labels, TypedElements<C> losses,
                              TypedElements<C> softmax, RowPlan plan) {
  __shared__ C shared[kMostWarps];
  Row<C, Form> row(plan, shared);
  row.read(x, lowest<C>());
  const C max = row_max(row), sum = exp_sum(row, max, true), factor = C(1) / sum;
  row.for_each([&](std::int64_t first, auto& chunk) {
#pragma unroll
    for (auto& pack : chunk) {
#pragma unroll
      for (C& each : pack) each = exp_again<Form>(each, max) * factor;
    }
    row.store(softmax, first, chunk);
  });
  if (!row.is_first()) return;
  if (const std::int64_t label = labels[row.index()]; label >= 0) {
    losses.set(row.index(), fn::log(sum) - (x[row.start() + label] - max));
  }
}

template <class C, class Form>
COHORT_ROW_KERNEL sparse_gradient(TypedElements<C> dlosses, TypedElements<C> softmax, CheckedLabels labels,
                                  TypedElements<C> dx, RowPlan plan) {
  Row<C, Form> row(plan, nullptr);
  if (!row.exists()) return;
  row.read(softmax, C(0));
  const std::int64_t label = labels[row.index()];
  const C dy = dlosses[row.index()];
  row.for_each([&](std::int64_t first, auto& chunk) {
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) {
        const C p = chunk[k][j];
        chunk[k][j] = dy * (row.position(first, k, j) == label ? p - C(1) : p);
      }
    }
    row.store(dx, first, chunk);
  });
}

template <class C>
RowPlans<C> logit_rows(const TensorSpec& logits) {
  const Shape& shape = logits.shape;
  return RowPlans<C>(shape.slice(0, shape.rank() - 1).num_elements(), shape.back());
}

KernelFn make_loss(const KernelSpec& spec) {
  const DType x_type = spec.input(0).dtype, label_type = spec.input(1).dtype, loss_type = spec.output(0).dtype;
  return visit_computed_floating(x_type, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    const RowPlans<C> plans = logit_rows<C>(spec.input(0));
    return [=](const KernelIO& io) {
      const TypedElements<C> x{io.inputs[0], x_type}, labels{io.inputs[1], label_type},
          losses{io.outputs[0], loss_type};
      const RowPlan& plan = plans.choose(x, labels);
      visit_form<C>(plan, [&]<class Form>(Form) {
        dense_loss<C, Form><<<plan.blocks(), plan.threads, 0, stream_of(io)>>>(x, labels, losses, plan);
      });
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

KernelFn make_gradient(const KernelSpec& spec) {
  const DType loss_type = spec.input(0).dtype, x_type = spec.input(1).dtype, label_type = spec.input(2).dtype,
              result_type = spec.output(0).dtype;
  return visit_computed_floating(x_type, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    const RowPlans<C> plans = logit_rows<C>(spec.input(1));
    return [=, distribution = spec.attr<bool>("assume_distribution")](const KernelIO& io) {
      const TypedElements<C> dlosses{io.inputs[0], loss_type}, x{io.inputs[1], x_type},
          labels{io.inputs[2], label_type}, dx{io.outputs[0], result_type};
      const RowPlan& plan = plans.choose(x, labels, dx);
      visit_form<C>(plan, [&]<class Form>(Form) {
        dense_gradient<C, Form>
            <<<plan.blocks(), plan.threads, 0, stream_of(io)>>>(dlosses, x, labels, dx, plan, distribution);
      });
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

KernelFn make_both(const KernelSpec& spec) {
  const DType x_type = spec.input(1).dtype, label_type = spec.input(2).dtype, result_type = spec.output(0).dtype,
              loss_type = spec.output(1).dtype;
  return visit_computed_floating(loss_type, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    const RowPlans<C> plans = logit_rows<C>(spec.input(1));
    return [=, distribution = spec.attr<bool>("assume_distribution")](const KernelIO& io) {
      const TypedElements<C> dlosses{io.inputs[0], loss_type}, x{io.inputs[1], x_type},
          labels{io.inputs[2], label_type}, dx{io.outputs[0], result_type}, losses{io.outputs[1], loss_type};
      const RowPlan& plan = plans.choose(x, labels, dx);
      visit_form<C>(plan, [&]<class Form>(Form) {
        dense_both<C, Form>
            <<<plan.blocks(), plan.threads, 0, stream_of(io)>>>(dlosses, x, labels, dx, losses, plan, distribution);
      });
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

KernelFn make_sparse_loss(const KernelSpec& spec) {
  const DType x_type = spec.input(0).dtype, label_type = spec.input(1).dtype, loss_type = spec.output(0).dtype,
              softmax_type = spec.output(1).dtype;
  auto* errors = cohort::cuda::device_of(spec).error_record();
  return visit_computed_floating(x_type, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    const RowPlans<C> plans = logit_rows<C>(spec.input(0));
    return [=, site = add_label_check(spec, plans.packed.count)](const KernelIO& io) {
      const CheckedLabels labels{{io.inputs[1], label_type}, plans.packed.count, errors, site};
      const TypedElements<C> x{io.inputs[0], x_type}, losses{io.outputs[0], loss_type},
          softmax{io.outputs[1], softmax_type};
      const RowPlan& plan = plans.choose(x, softmax);
      visit_form<C>(plan, [&]<class Form>(Form) {
        sparse_loss<C, Form><<<plan.blocks(), plan.threads, 0, stream_of(io)>>>(x, labels, losses, softmax, plan);
      });
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

KernelFn make_sparse_gradient(const KernelSpec& spec) {
  const DType loss_type = spec.input(0).dtype, softmax_type = spec.input(1).dtype, label_type = spec.input(2).dtype,
              result_type = spec.output(0).dtype;
  auto* errors = cohort::cuda::device_of(spec).error_record();
  return visit_computed_floating(softmax_type, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    const RowPlans<C> plans = logit_rows<C>(spec.input(1));
    return [=, site = add_label_check(spec, plans.packed.count)](const KernelIO& io) {
      const CheckedLabels labels{{io.inputs[2], label_type}, plans.packed.count, errors, site};
      const TypedElements<C> dlosses{io.inputs[0], loss_type}, softmax{io.inputs[1], softmax_type},
          dx{io.outputs[0], result_type};
      const RowPlan& plan = plans.choose(softmax, dx);
      // Each element is read once, so that nothing is gained by keeping rows.
      visit_passing_form<C>(plan, [&]<class Form>(Form) {
        sparse_gradient<C, Form><<<plan.blocks(), plan.threads, 0, stream_of(io)>>>(dlosses, softmax, labels, dx, plan);
      });
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

COHORT_KERNEL("SoftmaxCrossEntropy", kGPU, make_loss);
COHORT_KERNEL("SoftmaxCrossEntropyGrad", kGPU, make_gradient);
COHORT_KERNEL("SoftmaxCrossEntropyAndGrad", kGPU, make_both);
COHORT_KERNEL("SparseSoftmaxCrossEntropy", kGPU, make_sparse_loss);
COHORT_KERNEL("SparseSoftmaxCrossEntropyGrad", kGPU, make_sparse_gradient);

#undef COHORT_ROW_KERNEL

}  // namespace
}  // namespace cohort::kernels::cuda
