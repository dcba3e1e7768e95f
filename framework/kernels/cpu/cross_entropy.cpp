#include <algorithm>
#include <type_traits>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/softmax_rows.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {
namespace {

Scratch two_rows;

// Loops over the rows of logits, widened to the compute type: body(row, logits, free memory of one row). A body that
// takes them as constants reads them where they are, if it can.
template <class T, class Body>
void for_each_row(const T* logits, std::int64_t rows, std::int64_t classes, const Body& body) {
  using C = ComputeType<T>;
  const std::int64_t grain = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, classes));
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    C *x = two_rows.get<C>(2 * classes), *free = x + classes;
    for (std::int64_t r = begin; r < end; ++r) {
      if constexpr (std::is_same_v<T, C> && std::is_invocable_v<Body, std::int64_t, const C*, C*>) {
        body(r, logits + r * classes, free);
      } else {
        for (std::int64_t j = 0; j < classes; ++j) x[j] = C(logits[r * classes + j]);
        body(r, x, free);
      }
    }
  });
}

template <class Label>
std::int64_t checked_label(const Label* labels, std::int64_t row, std::int64_t classes, const char* who) {
  const auto label = static_cast<std::int64_t>(labels[row]);
  if (label < 0 || label >= classes) {
    throw invalid_argument(who, "labels must lie in [0, " + std::to_string(classes) + "), the classes of the logits",
                           {{"labels[" + std::to_string(row) + "]", label}},
                           "Count labels from 0 and give the logits one column per class.");
  }
  return label;
}

template <class T>
KernelFn dense_loss(std::int64_t rows, std::int64_t classes) {
  return [=](const KernelIO& io) {
    using C = ComputeType<T>;
    const T* labels = io.in<T>(1);
    T* loss = io.out<T>(0);
    for_each_row(io.in<T>(0), rows, classes, [&](std::int64_t r, const C* x, C* e) {
      const auto [max, sum] = exp_row(x, e, classes);
      const C log_sum = fn::log(sum);
      // A label of zero takes no part: 0 * -inf must not become NaN.
      for (std::int64_t j = 0; j < classes; ++j) {
        const C label = C(labels[r * classes + j]);
        e[j] = label == C(0) ? C(0) : label * (log_sum - (x[j] - max));
      }
      loss[r] = T(row_sum(e, classes));
    });
  };
}

template <class T>
KernelFn dense_gradient(std::int64_t rows, std::int64_t classes, bool distribution) {
  return [=](const KernelIO& io) {
    using C = ComputeType<T>;
    const T *dloss = io.in<T>(0), *labels = io.in<T>(2);
    T* dx = io.out<T>(0);
    for_each_row(io.in<T>(1), rows, classes, [&](std::int64_t r, C* x, C* e) {
      const C sum = exp_row(x, e, classes).sum;
      for (std::int64_t j = 0; j < classes; ++j) x[j] = C(labels[r * classes + j]);
      const C weight = (distribution ? C(1) : row_sum(x, classes)) / sum, dy = C(dloss[r]);
      for (std::int64_t j = 0; j < classes; ++j) dx[r * classes + j] = T(dy * (e[j] * weight - x[j]));
    });
  };
}

template <class T, class Label>
KernelFn sparse_loss(std::int64_t rows, std::int64_t classes) {
  return [=](const KernelIO& io) {
    using C = ComputeType<T>;
    const Label* labels = io.in<Label>(1);
    T* loss = io.out<T>(0);
    C* softmax = io.out<C>(1);
    for_each_row(io.in<T>(0), rows, classes, [&](std::int64_t r, const C* x, C*) {
      const std::int64_t label = checked_label(labels, r, classes, "SparseSoftmaxCrossEntropy");
      C* p = softmax + r * classes;
      const auto [max, sum] = exp_row(x, p, classes);
      const C scale = C(1) / sum;
      for (std::int64_t j = 0; j < classes; ++j) p[j] *= scale;
      loss[r] = T(fn::log(sum) - (x[label] - max));
    });
  };
}

template <class T, class Label>
KernelFn sparse_gradient(std::int64_t rows, std::int64_t classes) {
  const std::int64_t grain = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, classes));
  return [=](const KernelIO& io) {
    using C = ComputeType<T>;
    const T* dloss = io.in<T>(0);
    const C* softmax = io.in<C>(1);
    const Label* labels = io.in<Label>(2);
    T* dx = io.out<T>(0);
    parallel_for(rows, grain, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t label = checked_label(labels, r, classes, "SparseSoftmaxCrossEntropy");
        const C *p = softmax + r * classes, dy = C(dloss[r]);
        T* row = dx + r * classes;
        for (std::int64_t j = 0; j < classes; ++j) row[j] = T(dy * p[j]);
        row[label] = T(dy * (p[label] - C(1)));
      }
    });
  };
}

std::int64_t classes_of(const Shape& logits) { return logits.back(); }
std::int64_t rows_of(const Shape& logits) { return logits.slice(0, logits.rank() - 1).num_elements(); }

KernelFn make_loss(const KernelSpec& spec) {
  const Shape& s = spec.input(0).shape;
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) { return dense_loss<T>(rows_of(s), classes_of(s)); });
}
KernelFn make_gradient(const KernelSpec& spec) {
  const Shape& s = spec.input(1).shape;
  const bool distribution = spec.attr<bool>("assume_distribution");
  return visit_floating(spec.input(1).dtype,
                        [&]<class T>(T) { return dense_gradient<T>(rows_of(s), classes_of(s), distribution); });
}
KernelFn make_sparse_loss(const KernelSpec& spec) {
  const Shape& s = spec.input(0).shape;
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) {
    return visit_index(spec.input(1).dtype,
                       [&]<class Label>(Label) { return sparse_loss<T, Label>(rows_of(s), classes_of(s)); });
  });
}
KernelFn make_sparse_gradient(const KernelSpec& spec) {
  const Shape& s = spec.input(1).shape;
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) {
    return visit_index(spec.input(2).dtype,
                       [&]<class Label>(Label) { return sparse_gradient<T, Label>(rows_of(s), classes_of(s)); });
  });
}

COHORT_KERNEL("SoftmaxCrossEntropy", kCPU, make_loss);
COHORT_KERNEL("SoftmaxCrossEntropyGrad", kCPU, make_gradient);
COHORT_KERNEL("SparseSoftmaxCrossEntropy", kCPU, make_sparse_loss);
COHORT_KERNEL("SparseSoftmaxCrossEntropyGrad", kCPU, make_sparse_gradient);

}  // namespace
}  // namespace cohort
