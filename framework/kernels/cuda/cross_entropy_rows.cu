#include "cohort/kernels/cuda/checked_labels.h"
#include "cohort/kernels/cuda/row_packs.h"
#include "cohort/kernels/cuda/softmax_rows.h"
#include "cohort/kernels/cuda/tensor_core.h"

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

// What a row's threads have in common while its loss and gradient are made from 16-byte packs of logits of type T.
template <class T>
struct LabelledRow {
  static constexpr int kCount = kPerAccess<T>;

  __device__ LabelledRow(const TypedElements<float>& dlosses, const T* x, const CheckedLabels& labels, std::int64_t row,
                         std::int64_t count)
      : row(row), label(labels.labels[row]), has_label(label >= 0 && label < count), dy(dlosses[row]) {
    wanted = has_label ? widened(x[row * count + label]) : 0.0f;
  }
  // By one thread, which reports a label that lies outside.
  __device__ void write_loss(const RowLogarithm<float>& logarithm, const TypedElements<float>& losses,
                             const CheckedLabels& labels) const {
    if (has_label) losses.set(row, logarithm.log_sum - (wanted - logarithm.max));
    labels[row];
  }
  // What flows to the logits of a pack that begins at a column.
  __device__ void make_gradient(std::int64_t column, float logsumexp, float (&values)[kCount]) const {
#pragma unroll
    for (float& each : values) each = unit_exp(each - logsumexp);
    const std::int64_t place = label - column;
    if (place >= 0 && place < kCount) {
#pragma unroll
      for (int j = 0; j < kCount; ++j) values[j] -= place == j ? 1.0f : 0.0f;
    }
#pragma unroll
    for (float& each : values) each *= dy;
  }

  std::int64_t row, label;
  bool has_label;
  float dy, wanted;
};

// Of rows that a warp holds in its registers. dx may be x, as before.
template <class Held>
__global__ void __launch_bounds__(WarpRows::kThreads)
    loss_and_gradient_of_warp_rows(TypedElements<float> dlosses, const typename Held::Stored* x, CheckedLabels labels,
                                   TypedElements<float> losses, typename Held::Stored* dx, WarpRows rows) {
  const std::int64_t index = std::int64_t{blockIdx.x} * WarpRows::kWarps + threadIdx.x / kWarp;
  if (index >= rows.rows) return;
  const auto width = static_cast<int>(rows.width);
  Held held;
  held.load(x + index * rows.width, width);
  const LabelledRow<typename Held::Stored> row(dlosses, x, labels, index, rows.width);
  float largest = lowest<float>(), sum = 0;
#pragma unroll
  for (int k = 0; k < Held::kPacks; ++k) {
#pragma unroll
    for (int j = 0; j < Held::kCount; ++j) {
      if (Held::has(k, width)) largest = fmaxf(largest, held.element(k, j));
    }
  }
  const float max =
      merge_group(largest, kWarp, static_cast<float*>(nullptr), [](float a, float b) { return fmaxf(a, b); });
#pragma unroll
  for (int k = 0; k < Held::kPacks; ++k) {
#pragma unroll
    for (int j = 0; j < Held::kCount; ++j) {
      if (Held::has(k, width)) sum += unit_exp(held.element(k, j) - max);
    }
  }
  const RowLogarithm<float> logarithm{max, fn::log(sum_group(sum, kWarp, static_cast<float*>(nullptr)))};
  if (Held::lane() == 0) row.write_loss(logarithm, losses, labels);
  __syncwarp();
  const float logsumexp = logarithm.logsumexp();
  Held::store(dx + index * rows.width, width, [&](int k, float(&values)[Held::kCount]) {
#pragma unroll
    for (int j = 0; j < Held::kCount; ++j) values[j] = held.element(k, j);
    row.make_gradient(Held::column(k * Held::kCount, Held::lane()), logsumexp, values);
  });
}

// Rows that a block holds in its shared memory: all of a row is on its way from the beginning on, in parts that are
// looked at as they come. A thread looks at nothing but what it has asked for itself.
struct BlockRows {
  static constexpr int kParts = 4, kMostThreads = 1024;
  // What a block needs beside a row.
  static constexpr std::size_t kOwnBytes = 1024;

  // Whether a block may have that much shared memory on the current device.
  bool fit(DType dtype) const {
    if (dtype == DType::Float64 || rows == 0 || width <= WarpRows::kMost || bytes(dtype) % kAccessBytes != 0) {
      return false;
    }
    int device = 0, most = 0;
    cohort::cuda::check(cudaGetDevice(&device));
    cohort::cuda::check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    return bytes(dtype) + kOwnBytes <= static_cast<std::size_t>(most);
  }
  std::size_t bytes(DType dtype) const { return static_cast<std::size_t>(width) * size_of(dtype); }
  // Each has a few packs of every part.
  int threads(DType dtype) const { return bytes(dtype) >= (std::size_t{32} << 10) ? kMostThreads : kMostThreads / 4; }

  std::int64_t rows, width;
};

template <class T>
__device__ inline void unpack(const uint4& words, float (&values)[kPerAccess<T>]) {
  Pack<T, kPerAccess<T>> pack;
  memcpy(&pack, &words, sizeof pack);
#pragma unroll
  for (int j = 0; j < kPerAccess<T>; ++j) values[j] = widened(pack.values[j]);
}

// The largest of the elements that a thread has seen, and the sum of exp(x - largest).
struct RunningSum {
  template <int kCount>
  __device__ void add(const float (&values)[kCount]) {
    float top = largest;
#pragma unroll
    for (float each : values) top = fmaxf(top, each);
    // Nothing but -inf so far: its distance from itself is none.
    const float origin = top == lowest<float>() ? 0.0f : top;
    if (top > largest) sum *= unit_exp(largest - origin);
    largest = top;
#pragma unroll
    for (float each : values) sum += unit_exp(each - origin);
  }
  float largest = lowest<float>(), sum = 0;
};

// dx may be x: all of the row was read when the first is written.
template <class T>
__global__ void __launch_bounds__(BlockRows::kMostThreads, 2)
    loss_and_gradient_of_block_rows(TypedElements<float> dlosses, const T* x, CheckedLabels labels,
                                    TypedElements<float> losses, T* dx, BlockRows rows) {
  extern __shared__ uint4 held_logits[];
  __shared__ float shared[kMostWarps];
  constexpr int kCount = kPerAccess<T>, kParts = BlockRows::kParts;
  const int threads = static_cast<int>(blockDim.x), packs = static_cast<int>(rows.width) / kCount;
  const int rounds = (packs + kParts * threads - 1) / (kParts * threads);  // of a part
  const std::int64_t index = blockIdx.x;
  const uint4* from = reinterpret_cast<const uint4*>(x + index * rows.width);
  int next = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    for (int i = 0; i < rounds; ++i, next += threads) {
      if (next < packs) begin_copy(held_logits + next, from + next, true);
    }
    end_group_of_copies();
  }
  const LabelledRow<T> row(dlosses, x, labels, index, rows.width);
  RunningSum running;
  next = static_cast<int>(threadIdx.x);
  const auto look_at_part = [&] {
    for (int i = 0; i < rounds; ++i, next += threads) {
      if (next >= packs) return;
      float values[kCount];
      unpack<T>(held_logits[next], values);
      running.add(values);
    }
  };
  static_assert(kParts == 4);
  wait_for_copies<3>();
  look_at_part();
  wait_for_copies<2>();
  look_at_part();
  wait_for_copies<1>();
  look_at_part();
  wait_for_copies<0>();
  look_at_part();
  const float max = merge_group(running.largest, threads, shared, [](float a, float b) { return fmaxf(a, b); });
  const float sum = sum_group(running.sum * unit_exp(running.largest - max), threads, shared);
  const RowLogarithm<float> logarithm{max, fn::log(sum)};
  if (threadIdx.x == 0) row.write_loss(logarithm, losses, labels);
  const float logsumexp = logarithm.logsumexp();
  uint4* to = reinterpret_cast<uint4*>(dx + index * rows.width);
  for (int i = static_cast<int>(threadIdx.x); i < packs; i += threads) {
    float values[kCount];
    unpack<T>(held_logits[i], values);
    row.make_gradient(std::int64_t{i} * kCount, logsumexp, values);
    Pack<T, kCount> pack;
#pragma unroll
    for (int j = 0; j < kCount; ++j) pack.values[j] = narrowed<T>(values[j]);
    uint4 words;
    memcpy(&words, &pack, sizeof words);
    to[i] = words;
  }
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

// Lets a kernel have as much shared memory as there is: two of its blocks run on a multiprocessor where that suffices.
template <class Kernel>
void allow_shared_memory(Kernel* kernel) {
  int device = 0, most = 0;
  cohort::cuda::check(cudaGetDevice(&device));
  cohort::cuda::check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  cohort::cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           most - static_cast<int>(BlockRows::kOwnBytes)));
  cohort::cuda::check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
}

// Loss and gradient of rows that are held while both are made; nothing for others.
KernelFn make_held_rows(const KernelSpec& spec) {
  const TensorSpec& logits = spec.input(1);
  const DType label_type = spec.input(2).dtype, loss_type = spec.output(1).dtype;
  if (loss_type == DType::Float64 || logits.dtype == DType::Float64 || logits.dtype != spec.output(0).dtype) return {};
  const std::int64_t width = logits.shape.back(), count = logits.shape.slice(0, logits.shape.rank() - 1).num_elements();
  auto& device = cohort::cuda::device_of(spec);
  device.make_current();
  auto* errors = device.error_record();
  const auto made = [&]<class Launch>(const Launch& launch) -> KernelFn {
    return [=, site = add_label_check(spec, width)](const KernelIO& io) {
      const CheckedLabels labels{{io.inputs[2], label_type}, width, errors, site};
      launch(TypedElements<float>{io.inputs[0], loss_type}, labels, TypedElements<float>{io.outputs[1], loss_type}, io);
      cohort::cuda::check(cudaGetLastError());
    };
  };
  KernelFn kernel;
  if (const WarpRows rows{count, width}; rows.fit(logits.dtype)) {
    visit_warp_rows(logits.dtype, width, [&](auto type) {
      using Held = typename decltype(type)::type;
      using T = typename Held::Stored;
      kernel = made([rows](const auto& dlosses, const auto& labels, const auto& losses, const KernelIO& io) {
        loss_and_gradient_of_warp_rows<Held><<<rows.blocks(rows.rows), WarpRows::kThreads, 0, stream_of(io)>>>(
            dlosses, io.in<T>(1), labels, losses, io.out<T>(0), rows);
      });
    });
  } else if (const BlockRows rows{count, width}; rows.fit(logits.dtype)) {
    visit_floating(logits.dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      if constexpr (!std::is_same_v<T, double>) {
        allow_shared_memory(loss_and_gradient_of_block_rows<T>);
        kernel = made([rows, dtype = logits.dtype](const auto& dlosses, const auto& labels, const auto& losses,
                                                   const KernelIO& io) {
          loss_and_gradient_of_block_rows<T>
              <<<static_cast<unsigned int>(rows.rows), rows.threads(dtype), rows.bytes(dtype), stream_of(io)>>>(
                  dlosses, io.in<T>(1), labels, losses, io.out<T>(0), rows);
        });
      }
    });
  }
  return kernel;
}

KernelFn make_rows_both(const KernelSpec& spec) {
  if (KernelFn held = make_held_rows(spec)) return held;
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
