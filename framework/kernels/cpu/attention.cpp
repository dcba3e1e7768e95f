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
        C* max_and_factor = io.out<C>(1) + item * rows.steps * 2;
        const PhiloxStream stream(*io.random, rows.seed, static_cast<std::uint64_t>(sample));
        C* scores = scores_memory.get<C>(kBlockSteps * rows.keys);
        if (rows.keys == 0) fill_zeros(output);
        for (std::int64_t first = 0; first < rows.steps && rows.keys > 0; first += kBlockSteps) {
          const std::int64_t count = std::min(kBlockSteps, rows.steps - first);
          const std::int64_t keys = rows.keys_for(first + count - 1);
          compute_scores(rows, query, key, first, count, keys, mask, sample, head, scores);
          for (std::int64_t i = 0; i < count; ++i) {
            C* row = scores + i * keys;
            const auto made = rows.softmax(row, keys);
            std::copy(made.begin(), made.end(), max_and_factor + (first + i) * 2);
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
void scores_gradient(const AttentionRows& rows, const C* weights, C* flow, std::int64_t keys, C max) {
  if (max <= AttentionRows::hidden<C>) {  // every key is hidden: the weights do not depend on the scores
    std::fill_n(flow, keys, C(0));
    return;
  }
  C lanes[kLanes] = {};
  std::int64_t j = 0;
  for (; j + kLanes <= keys; j += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += weights[j + lane] * flow[j + lane];
  }
  for (; j < keys; ++j) lanes[j % kLanes] += weights[j] * flow[j];
  const C sum = row_sum(lanes, kLanes), scale = static_cast<C>(rows.scale);
  for (j = 0; j < keys; ++j) flow[j] = weights[j] * (flow[j] - sum) * scale;
}

// One task for each head of key and value, which gathers what flows from all the query's heads that share it.
template <class T>
KernelFn attention_gradient(const KernelSpec& spec) {
  using C = ComputeType<T>;
  const Shape query_shape = spec.input(0).shape, key_shape = spec.input(1).shape, value_shape = spec.input(2).shape;
  const Shape output_shape = spec.input(3).shape;
  return [=, rows = AttentionRows(spec, 5)](const KernelIO& io) {
    const bool* mask = rows.has_mask ? io.in<bool>(5) : nullptr;
    const std::int64_t sharing = rows.heads / rows.key_heads, widest = std::max(rows.size, rows.value_size);
    parallel_for(rows.batch * rows.key_heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t sample = item / rows.key_heads, key_head = item % rows.key_heads;
        C* memory = std::is_same_v<T, C>
                        ? nullptr
                        : widened_heads.get<C>(2 * rows.keys * (rows.size + rows.value_size) +
                                               sharing * rows.steps * (2 * rows.size + rows.value_size));
        const Head<const C> key = head_of<T, C>(io.in<T>(1), key_shape, sample, key_head, memory),
                            value = head_of<T, C>(io.in<T>(2), value_shape, sample, key_head, memory);
        const Head<C> to_key = result_of<T, C>(io.out<T>(1), key_shape, sample, key_head, memory),
                      to_value = result_of<T, C>(io.out<T>(2), value_shape, sample, key_head, memory);
        C* weights = scores_memory.get<C>(3 * kBlockSteps * rows.keys + rows.keys * widest);
        C *flow = weights + kBlockSteps * rows.keys, *left = flow + kBlockSteps * rows.keys;
        C* product = left + kBlockSteps * rows.keys;
        const PhiloxStream stream(*io.random, rows.seed, static_cast<std::uint64_t>(sample));
        if (rows.steps == 0) {
          fill_zeros(to_key);
          fill_zeros(to_value);
        }
        for (std::int64_t head = key_head * sharing; head < (key_head + 1) * sharing; ++head) {
          const Head<const C> query = head_of<T, C>(io.in<T>(0), query_shape, sample, head, memory),
                              upstream = head_of<T, C>(io.in<T>(3), output_shape, sample, head, memory);
          const Head<C> to_query = result_of<T, C>(io.out<T>(0), query_shape, sample, head, memory);
          const C* max_and_factor = io.in<C>(4) + (sample * rows.heads + head) * rows.steps * 2;
          if (rows.keys == 0) fill_zeros(to_query);
          for (std::int64_t first = 0; first < rows.steps && rows.keys > 0; first += kBlockSteps) {
            const std::int64_t count = std::min(kBlockSteps, rows.steps - first);
            const std::int64_t keys = rows.keys_for(first + count - 1);
            const bool add = first > 0 || head > key_head * sharing;
            compute_scores(rows, query, key, first, count, keys, mask, sample, head, weights);
            strided_gemm<C>({count, keys, rows.value_size, false, true}, upstream.row(first), upstream.stride,
                            value.data, value.stride, flow, keys);
            for (std::int64_t i = 0; i < count; ++i) {
              rows.weights_again(weights + i * keys, keys, max_and_factor + (first + i) * 2);
              if (!rows.drops()) continue;
              rows.drop(weights + i * keys, left + i * keys, keys, stream, head, first + i);
              rows.drop(flow + i * keys, flow + i * keys, keys, stream, head, first + i);
            }
            multiply_transposed<C>(to_value, keys, count, rows.drops() ? left : weights, upstream, first, add, product);
            for (std::int64_t i = 0; i < count; ++i) {
              scores_gradient(rows, weights + i * keys, flow + i * keys, keys, max_and_factor[(first + i) * 2]);
            }
            strided_gemm<C>({count, rows.size, keys, false, false}, flow, keys, key.data, key.stride,
                            to_query.row(first), to_query.stride);
            multiply_transposed<C>(to_key, keys, count, flow, query, first, add, product);
          }
          store<T, C>(to_query, io.out<T>(0), query_shape, sample, head);
        }
        store<T, C>(to_key, io.out<T>(1), key_shape, sample, key_head);
        store<T, C>(to_value, io.out<T>(2), value_shape, sample, key_head);
      }
    });
  };
}

KernelFn make_attention(const KernelSpec& spec) {
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) { return attention<T>(spec); });
}
KernelFn make_attention_gradient(const KernelSpec& spec) {
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) { return attention_gradient<T>(spec); });
}

COHORT_KERNEL("DotProductAttention", kCPU, make_attention);
COHORT_KERNEL("DotProductAttentionGrad", kCPU, make_attention_gradient);

}  // namespace
}  // namespace cohort
