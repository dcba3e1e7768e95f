#include "cohort/kernels/cuda/checked_labels.h"
#include "cohort/kernels/cuda/softmax_rows.h"

namespace cohort::kernels::cuda {
namespace {

#define COHORT_LOGITS_KERNEL __global__ void __launch_bounds__(RowPlan::kMostThreads, RowPlan::kBlocks)

// exp of what is not positive by the unit that a GPU has for it: wrong by up to (2 + |x|) / 2^23 of itself, which
// neither a sum nor a probability shows, and in so few instructions that reading 16-bit logits is all that takes time.
__device__ inline float unit_exp(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.44269504f));
  return y;
}
__device__ inline double unit_exp(double x) { return fn::exp(x); }

// Elements between the beginnings of two chunks of a row.
template <class Form>
__device__ inline std::int64_t chunk_step(const RowPlan& plan) {
  return std::int64_t{Form::kPacks} * plan.group * Form::kCount;
}

// The largest of a row's elements, and log(sum(exp(x - largest))).
template <class C>
struct RowLogarithm {
  C max, log_sum;
  __device__ C logsumexp() const { return max + log_sum; }
};

// That of a row, which is read once; the chunk that was read last stays in `chunk`. A thread follows the largest of its
// elements and the sum of exp(x - largest).
template <class C, class Form, class T>
__device__ RowLogarithm<C> logarithm_of(const Row<C, Form>& row, const RowPlan& plan, const TypedElements<C, T>& x,
                                        typename Row<C, Form>::Chunk& chunk) {
  C largest = lowest<C>(), sum = 0;
  const std::int64_t count = row.exists() ? plan.count : 0;
  for (std::int64_t first = 0; first < count; first += chunk_step<Form>(plan)) {
    row.load(x, first, chunk, lowest<C>());
    const C before = largest;
#pragma unroll
    for (const auto& pack : chunk) {
#pragma unroll
      for (C each : pack) largest = fmax(largest, each);
    }
    // Nothing but -inf so far: its distance from itself is none.
    const C origin = largest == lowest<C>() ? C(0) : largest;
    sum *= unit_exp(before - origin);
#pragma unroll
    for (const auto& pack : chunk) {
#pragma unroll
      for (C each : pack) sum += unit_exp(each - origin);
    }
  }
  const C max = row.merge(largest, [](C a, C b) { return fmax(a, b); });
  return {max, fn::log(row.sum(sum * unit_exp(largest - max)))};
}

// Makes a chunk of logits that begins at `first` what flows to them: dy * (exp(x - logsumexp) - one_hot(label)).
template <class C, class Form>
__device__ void make_gradient(const Row<C, Form>& row, std::int64_t first, C dy, C logsumexp, std::int64_t label,
                              typename Row<C, Form>::Chunk& chunk) {
#pragma unroll
  for (auto& pack : chunk) {
#pragma unroll
    for (C& each : pack) each = unit_exp(each - logsumexp);
  }
  const std::int64_t place = label - row.position(first, 0, 0);
  if (place >= 0 && place < Form::kPacks * kWarp * Form::kCount) {
#pragma unroll
    for (int k = 0; k < Form::kPacks; ++k) {
#pragma unroll
      for (int j = 0; j < Form::kCount; ++j) {
        if (place == k * kWarp * Form::kCount + j) chunk[k][j] -= C(1);
      }
    }
  }
#pragma unroll
  for (auto& pack : chunk) {
#pragma unroll
    for (C& each : pack) each *= dy;
  }
}

// loss = log(sum(exp(x))) - x[label], and the logarithm.
template <class C, class Form, class T>
COHORT_LOGITS_KERNEL loss_of_rows(TypedElements<C, T> x, CheckedLabels labels, TypedElements<C> losses, C* logsumexps,
                                  RowPlan plan) {
  __shared__ C shared[kMostWarps];
  const Row<C, Form> row(plan, shared);
  const std::int64_t label = row.is_first() ? labels[row.index()] : -1;
  const C wanted = label >= 0 ? x[row.start() + label] : C(0);
  typename Row<C, Form>::Chunk chunk;
  const RowLogarithm<C> logarithm = logarithm_of(row, plan, x, chunk);
  if (!row.is_first()) return;
  if (label >= 0) losses.set(row.index(), logarithm.log_sum - (wanted - logarithm.max));
  logsumexps[row.index()] = logarithm.logsumexp();
}

// dx may be x: an element is read before its place is written to, by the same thread.
template <class C, class Form, class T>
COHORT_LOGITS_KERNEL gradient_of_rows(TypedElements<C> dlosses, TypedElements<C, T> x, CheckedLabels labels,
                                      const C* logsumexps, TypedElements<C> dx, RowPlan plan) {
  const Row<C, Form> row(plan, nullptr);
  if (!row.exists()) return;
  const C dy = dlosses[row.index()], logsumexp = logsumexps[row.index()];
  // Looked at without being checked, which would hold up the walk; a label that lies outside is no element's.
  const std::int64_t label = labels.labels[row.index()];
  for (std::int64_t first = 0; first < plan.count; first += chunk_step<Form>(plan)) {
    typename Row<C, Form>::Chunk chunk;
    row.load(x, first, chunk, lowest<C>());
    make_gradient(row, first, dy, logsumexp, label, chunk);
    row.store(dx, first, chunk);
  }
  if (row.is_first()) labels[row.index()];
}

// Both at once. The second walk goes backwards: it begins with what the thread still has and goes on with what was read
// last, which is in a cache, so that memory gives each logit once. dx may be x here, too: whoever reads the logit of
// the label has it before the walks end.
template <class C, class Form, class T>
COHORT_LOGITS_KERNEL loss_and_gradient_of_rows(TypedElements<C> dlosses, TypedElements<C, T> x, CheckedLabels labels,
                                               TypedElements<C> losses, TypedElements<C> dx, RowPlan plan) {
  __shared__ C shared[kMostWarps];
  const Row<C, Form> row(plan, shared);
  const std::int64_t label = row.exists() ? labels.labels[row.index()] : -1;
  const bool has_wanted = row.is_first() && label >= 0 && label < plan.count;
  const C wanted = has_wanted ? x[row.start() + label] : C(0), dy = row.exists() ? dlosses[row.index()] : C(0);
  typename Row<C, Form>::Chunk chunk;
  const RowLogarithm<C> logarithm = logarithm_of(row, plan, x, chunk);
  if (has_wanted) losses.set(row.index(), logarithm.log_sum - (wanted - logarithm.max));
  __syncwarp();
  if (!row.exists()) return;
  const std::int64_t step = chunk_step<Form>(plan), last = (plan.count - 1) / step * step;
  for (std::int64_t first = last; first >= 0; first -= step) {
    if (first != last) row.load(x, first, chunk, lowest<C>());
    make_gradient(row, first, dy, logarithm.logsumexp(), label, chunk);
    row.store(dx, first, chunk);
  }
  if (row.is_first()) labels[row.index()];
}

// Rows of logits that are computed in C, read by accesses of kAccessBytes where that can be.
template <class C>
class Logits {
 public:
  explicit Logits(const TensorSpec& logits)
      : dtype_(logits.dtype), packed_(plan_for(logits, packed_width(logits.dtype))), single_(plan_for(logits, 1)) {}

  std::int64_t classes() const { return single_.count; }

  // Calls launch(the logits, how their rows are walked, the plan) if there are rows. Tensors `beside` them are walked
  // in step.
  template <class Launch, class... Tensors>
  void visit(void* memory, const Launch& launch, const Tensors&... beside) const {
    const TypedElements<C> x{memory, dtype_};
    if (single_.rows == 0) return;
    if constexpr (std::is_same_v<C, float>) {
      if (packed_.count % packed_.width == 0 && is_packed(x) && (is_packed(beside) && ...)) {
        if (dtype_ == DType::Float32) return launch_packed<float>(x, launch);
        if (dtype_ == DType::BFloat16) return launch_packed<__nv_bfloat16>(x, launch);
        return launch_packed<__half>(x, launch);
      }
    }
    launch(x, RowForm<RowPlan::kPacks, 1, false>{}, single_);
  }

 private:
  static int packed_width(DType dtype) { return kAccessBytes / static_cast<int>(size_of(dtype)); }
  static RowPlan plan_for(const TensorSpec& logits, int width) {
    const Shape& shape = logits.shape;
    return RowPlan(shape.slice(0, shape.rank() - 1).num_elements(), shape.back(), width);
  }
  bool is_packed(const TypedElements<C>& tensor) const {
    const std::size_t pack = static_cast<std::size_t>(packed_.width) * size_of(tensor.dtype);
    return reinterpret_cast<std::uintptr_t>(tensor.memory) % pack == 0;
  }
  template <class T, class Launch>
  void launch_packed(const TypedElements<C>& x, const Launch& launch) const {
    constexpr int kCount = kAccessBytes / sizeof(T), kChunk = 16;
    launch(x.template as<T>(), RowForm<kChunk / kCount, kCount, false>{}, packed_);
  }

  DType dtype_;
  RowPlan packed_, single_;
};

KernelFn make_rows_loss(const KernelSpec& spec) {
  const DType label_type = spec.input(1).dtype, loss_type = spec.output(0).dtype;
  auto* errors = cohort::cuda::device_of(spec).error_record();
  return visit_computed_floating(spec.output(1).dtype, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    const Logits<C> logits(spec.input(0));
    return [=, site = add_label_check(spec, logits.classes())](const KernelIO& io) {
      const CheckedLabels labels{{io.inputs[1], label_type}, logits.classes(), errors, site};
      const TypedElements<C> losses{io.outputs[0], loss_type};
      logits.visit(io.inputs[0], [&]<class T, class Form>(T x, Form, const RowPlan& plan) {
        loss_of_rows<C, Form><<<plan.blocks(), plan.threads, 0, stream_of(io)>>>(x, labels, losses, io.out<C>(1), plan);
      });
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

KernelFn make_rows_gradient(const KernelSpec& spec) {
  const DType loss_type = spec.input(0).dtype, label_type = spec.input(2).dtype, result_type = spec.output(0).dtype;
  auto* errors = cohort::cuda::device_of(spec).error_record();
  return visit_computed_floating(spec.input(3).dtype, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    const Logits<C> logits(spec.input(1));
    return [=, site = add_label_check(spec, logits.classes())](const KernelIO& io) {
      const CheckedLabels labels{{io.inputs[2], label_type}, logits.classes(), errors, site};
      const TypedElements<C> dlosses{io.inputs[0], loss_type}, dx{io.outputs[0], result_type};
      const auto launch = [&]<class T, class Form>(T x, Form, const RowPlan& plan) {
        gradient_of_rows<C, Form>
            <<<plan.blocks(), plan.threads, 0, stream_of(io)>>>(dlosses, x, labels, io.in<C>(3), dx, plan);
      };
      logits.visit(io.inputs[1], launch, dx);
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

KernelFn make_rows_both(const KernelSpec& spec) {
  const DType label_type = spec.input(2).dtype, result_type = spec.output(0).dtype, loss_type = spec.output(1).dtype;
  auto* errors = cohort::cuda::device_of(spec).error_record();
  return visit_computed_floating(loss_type, [&](auto type) -> KernelFn {
    using C = typename decltype(type)::type;
    const Logits<C> logits(spec.input(1));
    return [=, site = add_label_check(spec, logits.classes())](const KernelIO& io) {
      const CheckedLabels labels{{io.inputs[2], label_type}, logits.classes(), errors, site};
      const TypedElements<C> dlosses{io.inputs[0], loss_type}, dx{io.outputs[0], result_type},
          losses{io.outputs[1], loss_type};
      const auto launch = [&]<class T, class Form>(T x, Form, const RowPlan& plan) {
        loss_and_gradient_of_rows<C, Form>
            <<<plan.blocks(), plan.threads, 0, stream_of(io)>>>(dlosses, x, labels, losses, dx, plan);
      };
      logits.visit(io.inputs[1], launch, dx);
      cohort::cuda::check(cudaGetLastError());
    };
  });
}

COHORT_KERNEL("SparseSoftmaxCrossEntropyRows", kGPU, make_rows_loss);
COHORT_KERNEL("SparseSoftmaxCrossEntropyRowsGrad", kGPU, make_rows_gradient);
COHORT_KERNEL("SparseSoftmaxCrossEntropyAndGrad", kGPU, make_rows_both);

#undef COHORT_LOGITS_KERNEL

}  // namespace
}  // namespace cohort::kernels::cuda
