#include <algorithm>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/attention_rows.h"
#include "cohort/kernels/cpu/gemm.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {
namespace {

constexpr std::int64_t kBlockSteps = 64;  // steps whose scores are in the cache at once

Scratch scores_memory, widened_heads;

// One head of a tensor (batch, steps, heads, size): a matrix of `rows` rows that lie `stride` apart.
template <class C>
struct Head {
  C* data;
  std::int64_t rows, columns, stride;
  C* row(std::int64_t i) const { return data + i * stride; }
};

// A head in the compute type: where it lies when the tensor has that type, else a copy in `memory`, which moves on.
template <class T, class C>
Head<const C> head_of(const T* tensor, const Shape& shape, std::int64_t sample, std::int64_t head, C*& memory) {
  const std::int64_t rows = shape[1], columns = shape[3], stride = shape[2] * shape[3];
  const T* first = tensor + sample * rows * stride + head * columns;
  if constexpr (std::is_same_v<T, C>) {
    return {first, rows, columns, stride};
  } else {
    C* copy = memory;
    memory += rows * columns;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) copy[i * columns + j] = C(first[i * stride + j]);
    }
    return {copy, rows, columns, columns};
  }
}
// The same for a result; a copy is written back by store().
template <class T, class C>
Head<C> result_of(T* tensor, const Shape& shape, std::int64_t sample, std::int64_t head, C*& memory) {
  const std::int64_t rows = shape[1], columns = shape[3], stride = shape[2] * shape[3];
  if constexpr (std::is_same_v<T, C>) {
    return {tensor + sample * rows * stride + head * columns, rows, columns, stride};
  } else {
    C* copy = memory;
    memory += rows * columns;
    return {copy, rows, columns, columns};
  }
}
template <class T, class C>
void store(const Head<C>& from, T* tensor, const Shape& shape, std::int64_t sample, std::int64_t head) {
  if constexpr (!std::is_same_v<T, C>) {
    const std::int64_t stride = shape[2] * shape[3];
    T* first = tensor + sample * from.rows * stride + head * from.columns;
    for (std::int64_t i = 0; i < from.rows; ++i) {
      for (std::int64_t j = 0; j < from.columns; ++j) first[i * stride + j] = T(from.row(i)[j]);
    }
  }
}

template <class C>
void fill_zeros(const Head<C>& head) {
  for (std::int64_t i = 0; i < head.rows; ++i) std::fill_n(head.row(i), head.columns, C(0));
}

// Masked scores of the steps [first, first + count) with the first `keys` keys; rows lie `keys` apart.
template <class C>
void compute_scores(const AttentionRows& rows, const Head<const C>& query, const Head<const C>& key, std::int64_t first,
                    std::int64_t count, std::int64_t keys, const bool* mask, std::int64_t sample, std::int64_t head,
                    C* scores) {
  strided_gemm<C>({count, keys, rows.size, false, true}, query.row(first), query.stride, key.data, key.stride, scores,
                  keys);
  for (std::int64_t i = 0; i < count; ++i) rows.mask_row(scores + i * keys, keys, mask, sample, head, first + i);
}

template <class T>
KernelFn attention(const KernelSpec& spec) {
  using C = ComputeType<T>;
  const Shape query_shape = spec.input(0).shape, key_shape = spec.input(1).shape, value_shape = spec.input(2).shape;
  const Shape output_shape = spec.output(0).shape;
  return [=, rows = AttentionRows(spec, 3)](const KernelIO& io) {
    const bool* mask = rows.has_mask ? io.in<bool>(3) : nullptr;
    parallel_for(rows.batch * rows.heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t sample = item / rows.heads, head = item % rows.heads;
        const std::int64_t key_head = head / (rows.heads / rows.key_heads);
        C* memory = std::is_same_v<T, C> ? nullptr
                                         : widened_heads.get<C>(rows.steps * (rows.size + rows.value_size) +
                                                                rows.keys * (rows.size + rows.value_size));
        const Head<const C> query = head_of<T, C>(io.in<T>(0), query_shape, sample, head, memory),
                            key = head_of<T, C>(io.in<T>(1), key_shape, sample, key_head, memory),
                            value = head_of<T, C>(io.in<T>(2), value_shape, sample, key_head, memory);
        const Head<C> output = result_of<T, C>(io.out<T>(0), output_shape, sample, head, memory);
        C* logarithms = io.out<C>(1) + item * rows.steps;
        const PhiloxStream stream(*io.random, rows.seed, static_cast<std::uint64_t>(sample));
        C* scores = scores_memory.get<C>(kBlockSteps * rows.keys);
        if (rows.keys == 0) fill_zeros(output);
        for (std::int64_t first = 0; first < rows.steps && rows.keys > 0; first += kBlockSteps) {
          const std::int64_t count = std::min(kBlockSteps, rows.steps - first);
          const std::int64_t keys = rows.keys_for(first + count - 1);
          compute_scores(rows, query, key, first, count, keys, mask, sample, head, scores);
          for (std::int64_t i = 0; i < count; ++i) {
            C* row = scores + i * keys;
            logarithms[first + i] = rows.softmax(row, keys, first + i);
            if (rows.drops()) rows.drop(row, row, keys, stream, head, first + i);
          }
          strided_gemm<C>({count, rows.value_size, keys, false, false}, scores, keys, value.data, value.stride,
                          output.row(first), output.stride);
        }
        store<T, C>(output, io.out<T>(0), output_shape, sample, head);
      }
    });
  };
}

// The first `rows` rows of target = or += a' * b, for a of `depth` rows that follow each other and as many of b.
template <class C>
void multiply_transposed(const Head<C>& target, std::int64_t rows, std::int64_t depth, const C* a,
                         const Head<const C>& b, std::int64_t b_row, bool add, C* memory) {
  const GemmShape shape{rows, target.columns, depth, true, false};
  if (!add) {
    strided_gemm<C>(shape, a, rows, b.row(b_row), b.stride, target.data, target.stride);
    for (std::int64_t i = rows; i < target.rows; ++i) std::fill_n(target.row(i), target.columns, C(0));
    return;
  }
  strided_gemm<C>(shape, a, rows, b.row(b_row), b.stride, memory, target.columns);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < target.columns; ++j) target.row(i)[j] += memory[i * target.columns + j];
  }
}

// What flows to the scores of one step, in place of what flows to its weights.
template <class C>
void scores_gradient(const AttentionRows& rows, const C* weights, C* flow, std::int64_t keys, std::int64_t step,
                     C logarithm) {
  if (logarithm <= AttentionRows::hidden<C>) {  // every key is hidden: the weights do not depend on the scores
    std::fill_n(flow, keys, C(0));
    return;
  }
  const std::int64_t count = rows.seen_keys(keys, step);
  std::fill(flow + count, flow + keys, C(0));
  const C sum = kernels::sum_in_lanes<C>(count, [&](std::int64_t j) { return weights[j] * flow[j]; });
  const C scale = static_cast<C>(rows.scale);
  for (std::int64_t j = 0; j < count; ++j) flow[j] = weights[j] * (flow[j] - sum) * scale;
}

// One task for each head of key and value, which gathers what flows from all the query's heads that share it.
template <class T>
class AttentionGradient {
 public:
  explicit AttentionGradient(const KernelSpec& spec)
      : rows_(spec, 6),
        query_shape_(spec.input(0).shape),
        key_shape_(spec.input(1).shape),
        value_shape_(spec.input(2).shape),
        output_shape_(spec.input(4).shape) {}

  void operator()(const KernelIO& io) const {
    parallel_for(rows_.batch * rows_.key_heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t item = begin; item < end; ++item) run_task(io, item / rows_.key_heads, item % rows_.key_heads);
    });
  }

 private:
  using C = ComputeType<T>;

  struct Task {
    const KernelIO& io;
    std::int64_t sample;
    PhiloxStream stream;
    Head<const C> key, value;
    Head<C> to_key, to_value;
    C *weights, *flow, *left, *product;  // working memory: three blocks of scores and one product
  };
  struct QueryHead {
    std::int64_t number;
    Head<const C> query, upstream;
    Head<C> to_query;
    const C* logarithms;
  };

  void run_task(const KernelIO& io, std::int64_t sample, std::int64_t key_head) const {
    const std::int64_t sharing = rows_.heads / rows_.key_heads, block = kBlockSteps * rows_.keys;
    C* memory = std::is_same_v<T, C>
                    ? nullptr
                    : widened_heads.get<C>(2 * rows_.keys * (rows_.size + rows_.value_size) +
                                           sharing * rows_.steps * (2 * rows_.size + rows_.value_size));
    C* scores = scores_memory.get<C>(3 * block + rows_.keys * std::max(rows_.size, rows_.value_size));
    const Task task{io,
                    sample,
                    PhiloxStream(*io.random, rows_.seed, static_cast<std::uint64_t>(sample)),
                    head_of<T, C>(io.in<T>(1), key_shape_, sample, key_head, memory),
                    head_of<T, C>(io.in<T>(2), value_shape_, sample, key_head, memory),
                    result_of<T, C>(io.out<T>(1), key_shape_, sample, key_head, memory),
                    result_of<T, C>(io.out<T>(2), value_shape_, sample, key_head, memory),
                    scores,
                    scores + block,
                    scores + 2 * block,
                    scores + 3 * block};
    if (rows_.steps == 0) {
      fill_zeros(task.to_key);
      fill_zeros(task.to_value);
    }
    for (std::int64_t i = 0; i < sharing; ++i) run_query_head(task, key_head * sharing + i, i == 0, memory);
    store<T, C>(task.to_key, io.out<T>(1), key_shape_, sample, key_head);
    store<T, C>(task.to_value, io.out<T>(2), value_shape_, sample, key_head);
  }

  void run_query_head(const Task& task, std::int64_t head, bool first_of_task, C*& memory) const {
    const KernelIO& io = task.io;
    const QueryHead own{head, head_of<T, C>(io.in<T>(0), query_shape_, task.sample, head, memory),
                        head_of<T, C>(io.in<T>(4), output_shape_, task.sample, head, memory),
                        result_of<T, C>(io.out<T>(0), query_shape_, task.sample, head, memory),
                        io.in<C>(5) + (task.sample * rows_.heads + head) * rows_.steps};
    if (rows_.keys == 0) fill_zeros(own.to_query);
    for (std::int64_t first = 0; first < rows_.steps && rows_.keys > 0; first += kBlockSteps) {
      run_block(task, own, first, !first_of_task || first > 0);
    }
    store<T, C>(own.to_query, io.out<T>(0), query_shape_, task.sample, head);
  }

  // The steps from `first` on; `add` to what flows to key and value, or begin it.
  void run_block(const Task& task, const QueryHead& own, std::int64_t first, bool add) const {
    const std::int64_t count = std::min(kBlockSteps, rows_.steps - first), keys = rows_.keys_for(first + count - 1);
    const bool* mask = rows_.has_mask ? task.io.template in<bool>(6) : nullptr;
    C *weights = task.weights, *flow = task.flow, *left = task.left;
    compute_scores(rows_, own.query, task.key, first, count, keys, mask, task.sample, own.number, weights);
    strided_gemm<C>({count, keys, rows_.value_size, false, true}, own.upstream.row(first), own.upstream.stride,
                    task.value.data, task.value.stride, flow, keys);
    for (std::int64_t i = 0; i < count; ++i) {
      rows_.weights_again(weights + i * keys, keys, first + i, own.logarithms[first + i]);
      if (!rows_.drops()) continue;
      rows_.drop(weights + i * keys, left + i * keys, keys, task.stream, own.number, first + i);
      rows_.drop(flow + i * keys, flow + i * keys, keys, task.stream, own.number, first + i);
    }
    multiply_transposed<C>(task.to_value, keys, count, rows_.drops() ? left : weights, own.upstream, first, add,
                           task.product);
    for (std::int64_t i = 0; i < count; ++i) {
      scores_gradient(rows_, weights + i * keys, flow + i * keys, keys, first + i, own.logarithms[first + i]);
    }
    strided_gemm<C>({count, rows_.size, keys, false, false}, flow, keys, task.key.data, task.key.stride,
                    own.to_query.row(first), own.to_query.stride);
    multiply_transposed<C>(task.to_key, keys, count, flow, own.query, first, add, task.product);
  }

  AttentionRows rows_;
  Shape query_shape_, key_shape_, value_shape_, output_shape_;
};

KernelFn make_attention(const KernelSpec& spec) {
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) { return attention<T>(spec); });
}
KernelFn make_attention_gradient(const KernelSpec& spec) {
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn { return AttentionGradient<T>(spec); });
}

COHORT_KERNEL("DotProductAttention", kCPU, make_attention);
COHORT_KERNEL("DotProductAttentionGrad", kCPU, make_attention_gradient);

}  // namespace
}  // namespace cohort
