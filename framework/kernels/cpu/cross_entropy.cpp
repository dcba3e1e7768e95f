#include <algorithm>
#include <type_traits>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/softmax_rows.h"
#include "cohort/kernels/cpu/typed_rows.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/kernels/refusals.h"

namespace cohort {
namespace {

Scratch logit_memory;

std::int64_t grain_of(std::int64_t classes) {
  return std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, classes));
}

// Logits: rows of classes, of any floating type.
template <class C>
struct LogitRows {
  explicit LogitRows(const TensorSpec& logits)
      : classes(logits.shape.back()),
        rows(logits.shape.slice(0, logits.shape.rank() - 1).num_elements()),
        typed(logits, classes) {}

  // Loops over them: body(row, logits, free memory of two rows). A body that takes logits as constants reads them where
  // they are, if it can.
  template <class Body>
  void for_each(const void* logits, const Body& body) const {
    parallel_for(rows, grain_of(classes), [&](std::int64_t begin, std::int64_t end) {
      C *x = logit_memory.get<C>(3 * classes), *free = x + classes;
      for (std::int64_t r = begin; r < end; ++r) {
        if constexpr (std::is_invocable_v<Body, std::int64_t, const C*, C*>) {
          body(r, typed.read(logits, r, x), free);
        } else {
          body(r, typed.read_copy(logits, r, x), free);
        }
      }
    });
  }

  std::int64_t classes, rows;
  TypedRows<C> typed;
};

template <class Label>
std::int64_t checked_label(const Label* labels, std::int64_t row, std::int64_t classes, const char* who) {
  const auto label = static_cast<std::int64_t>(labels[row]);
  if (label < 0 || label >= classes) refuse_label(who, row, label, classes);
  return label;
}

// The loss of a row of dense labels, by way of memory for one.
template <class C>
C entropy_of_row(const C* x, const C* wanted, std::int64_t classes, C max, C log_sum, C* memory) {
  // A label of zero takes no part: 0 * -inf must not become NaN.
  for (std::int64_t j = 0; j < classes; ++j) {
    memory[j] = wanted[j] == C(0) ? C(0) : wanted[j] * (log_sum - (x[j] - max));
  }
  return row_sum(memory, classes);
}

template <class C>
KernelFn dense_loss(const KernelSpec& spec) {
  const LogitRows<C> logits(spec.input(0));
  const TypedRows<C> labels(spec.input(1), logits.classes), losses(spec.output(0), 1);
  return [=](const KernelIO& io) {
    logits.for_each(io.inputs[0], [&, classes = logits.classes](std::int64_t r, const C* x, C* e) {
      const auto [max, sum] = exp_row(x, e, classes);
      const C* wanted = labels.read(io.inputs[1], r, e + classes);
      losses.write_one(entropy_of_row(x, wanted, classes, max, fn::log(sum), e), io.outputs[0], r);
    });
  };
}

template <class C>
KernelFn dense_gradient(const KernelSpec& spec) {
  const LogitRows<C> logits(spec.input(1));
  const TypedRows<C> dlosses(spec.input(0), 1), labels(spec.input(2), logits.classes),
      results(spec.output(0), logits.classes);
  return [=, distribution = spec.attr<bool>("assume_distribution")](const KernelIO& io) {
    logits.for_each(io.inputs[1], [&, classes = logits.classes](std::int64_t r, C* x, C* e) {
      const C sum = exp_row(x, e, classes).sum;
      labels.read_copy(io.inputs[2], r, x);
      const C weight = (distribution ? C(1) : row_sum(x, classes)) / sum, dy = dlosses.read_one(io.inputs[0], r);
      C* dx = results.place(io.outputs[0], r, e + classes);
      for (std::int64_t j = 0; j < classes; ++j) dx[j] = dy * (e[j] * weight - x[j]);
      results.store(dx, io.outputs[0], r);
    });
  };
}

template <class C, class Label>
KernelFn sparse_loss(const KernelSpec& spec) {
  const LogitRows<C> logits(spec.input(0));
  const TypedRows<C> losses(spec.output(0), 1);
  return [=](const KernelIO& io) {
    const Label* labels = io.in<Label>(1);
    C* softmax = io.out<C>(1);
    logits.for_each(io.inputs[0], [&, classes = logits.classes](std::int64_t r, const C* x, C*) {
      const std::int64_t label = checked_label(labels, r, classes, "SparseSoftmaxCrossEntropy");
      C* p = softmax + r * classes;
      const auto [max, sum] = exp_row(x, p, classes);
      const C scale = C(1) / sum;
      for (std::int64_t j = 0; j < classes; ++j) p[j] *= scale;
      losses.write_one(fn::log(sum) - (x[label] - max), io.outputs[0], r);
    });
  };
}

template <class C, class Label>
KernelFn sparse_gradient(const KernelSpec& spec) {
  const LogitRows<C> softmax(spec.input(1));
  const TypedRows<C> dlosses(spec.input(0), 1), results(spec.output(0), softmax.classes);
  return [=](const KernelIO& io) {
    const Label* labels = io.in<Label>(2);
    softmax.for_each(io.inputs[1], [&, classes = softmax.classes](std::int64_t r, const C* p, C* memory) {
      const std::int64_t label = checked_label(labels, r, classes, "SparseSoftmaxCrossEntropy");
      const C dy = dlosses.read_one(io.inputs[0], r);
      C* dx = results.place(io.outputs[0], r, memory);
      for (std::int64_t j = 0; j < classes; ++j) dx[j] = dy * p[j];
      dx[label] = dy * (p[label] - C(1));
      results.store(dx, io.outputs[0], r);
    });
  };
}

template <class C, class Label>
KernelFn rows_loss(const KernelSpec& spec) {
  const LogitRows<C> logits(spec.input(0));
  const TypedRows<C> losses(spec.output(0), 1);
  return [=](const KernelIO& io) {
    const Label* labels = io.in<Label>(1);
    C* logsumexps = io.out<C>(1);
    logits.for_each(io.inputs[0], [&, classes = logits.classes](std::int64_t r, const C* x, C* e) {
      const std::int64_t label = checked_label(labels, r, classes, "SparseSoftmaxCrossEntropy");
      const auto [max, sum] = exp_row(x, e, classes);
      const C log_sum = fn::log(sum);
      losses.write_one(log_sum - (x[label] - max), io.outputs[0], r);
      logsumexps[r] = max + log_sum;
    });
  };
}

// What flows to a row of logits may be written over it: an element is read before its place is written to.
template <class C>
void write_row_gradient(const C* x, std::int64_t classes, std::int64_t label, C dy, C logsumexp, C* dx) {
  const C wanted = fn::exp(x[label] - logsumexp);
  for (std::int64_t j = 0; j < classes; ++j) dx[j] = dy * fn::exp(x[j] - logsumexp);
  dx[label] = dy * (wanted - C(1));
}

template <class C, class Label>
KernelFn rows_gradient(const KernelSpec& spec) {
  const LogitRows<C> logits(spec.input(1));
  const TypedRows<C> dlosses(spec.input(0), 1), results(spec.output(0), logits.classes);
  return [=](const KernelIO& io) {
    const Label* labels = io.in<Label>(2);
    const C* logsumexps = io.in<C>(3);
    logits.for_each(io.inputs[1], [&, classes = logits.classes](std::int64_t r, const C* x, C* memory) {
      const std::int64_t label = checked_label(labels, r, classes, "SparseSoftmaxCrossEntropy");
      C* dx = results.place(io.outputs[0], r, memory);
      write_row_gradient(x, classes, label, dlosses.read_one(io.inputs[0], r), logsumexps[r], dx);
      results.store(dx, io.outputs[0], r);
    });
  };
}

template <class C, class Label>
KernelFn sparse_both(const KernelSpec& spec) {
  const LogitRows<C> logits(spec.input(1));
  const TypedRows<C> dlosses(spec.input(0), 1), results(spec.output(0), logits.classes), losses(spec.output(1), 1);
  return [=](const KernelIO& io) {
    const Label* labels = io.in<Label>(2);
    logits.for_each(io.inputs[1], [&, classes = logits.classes](std::int64_t r, const C* x, C* memory) {
      const std::int64_t label = checked_label(labels, r, classes, "SparseSoftmaxCrossEntropy");
      const auto [max, sum] = exp_row(x, memory, classes);
      const C log_sum = fn::log(sum);
      losses.write_one(log_sum - (x[label] - max), io.outputs[1], r);
      C* dx = results.place(io.outputs[0], r, memory);
      write_row_gradient(x, classes, label, dlosses.read_one(io.inputs[0], r), max + log_sum, dx);
      results.store(dx, io.outputs[0], r);
    });
  };
}

// An element of the logits is read before what flows to it is written to its place.
template <class C>
KernelFn dense_both(const KernelSpec& spec) {
  const LogitRows<C> logits(spec.input(1));
  const TypedRows<C> dlosses(spec.input(0), 1), labels(spec.input(2), logits.classes),
      results(spec.output(0), logits.classes), losses(spec.output(1), 1);
  return [=, distribution = spec.attr<bool>("assume_distribution")](const KernelIO& io) {
    logits.for_each(io.inputs[1], [&, classes = logits.classes](std::int64_t r, const C* x, C* e) {
      const auto [max, sum] = exp_row(x, e, classes);
      const C* wanted = labels.read(io.inputs[2], r, e + classes);
      losses.write_one(entropy_of_row(x, wanted, classes, max, fn::log(sum), e), io.outputs[1], r);
      const C weight = (distribution ? C(1) : row_sum(wanted, classes)) / sum, dy = dlosses.read_one(io.inputs[0], r);
      C* dx = results.place(io.outputs[0], r, e);
      for (std::int64_t j = 0; j < classes; ++j) dx[j] = dy * (fn::exp(x[j] - max) * weight - wanted[j]);
      results.store(dx, io.outputs[0], r);
    });
  };
}

KernelFn make_loss(const KernelSpec& spec) {
  return visit_computed(spec.input(0).dtype, [&]<class C>(C) { return dense_loss<C>(spec); });
}
KernelFn make_gradient(const KernelSpec& spec) {
  return visit_computed(spec.input(1).dtype, [&]<class C>(C) { return dense_gradient<C>(spec); });
}
KernelFn make_sparse_loss(const KernelSpec& spec) {
  return visit_computed(spec.input(0).dtype, [&]<class C>(C) {
    return visit_index(spec.input(1).dtype, [&]<class Label>(Label) { return sparse_loss<C, Label>(spec); });
  });
}
KernelFn make_sparse_gradient(const KernelSpec& spec) {
  return visit_computed(spec.input(1).dtype, [&]<class C>(C) {
    return visit_index(spec.input(2).dtype, [&]<class Label>(Label) { return sparse_gradient<C, Label>(spec); });
  });
}
KernelFn make_rows_loss(const KernelSpec& spec) {
  return visit_computed(spec.input(0).dtype, [&]<class C>(C) {
    return visit_index(spec.input(1).dtype, [&]<class Label>(Label) { return rows_loss<C, Label>(spec); });
  });
}
KernelFn make_rows_gradient(const KernelSpec& spec) {
  return visit_computed(spec.input(1).dtype, [&]<class C>(C) {
    return visit_index(spec.input(2).dtype, [&]<class Label>(Label) { return rows_gradient<C, Label>(spec); });
  });
}
KernelFn make_both(const KernelSpec& spec) {
  return visit_computed(spec.input(1).dtype, [&]<class C>(C) { return dense_both<C>(spec); });
}
KernelFn make_sparse_both(const KernelSpec& spec) {
  return visit_computed(spec.input(1).dtype, [&]<class C>(C) {
    return visit_index(spec.input(2).dtype, [&]<class Label>(Label) { return sparse_both<C, Label>(spec); });
  });
}

COHORT_KERNEL("SoftmaxCrossEntropy", kCPU, make_loss);
COHORT_KERNEL("SoftmaxCrossEntropyGrad", kCPU, make_gradient);
COHORT_KERNEL("SparseSoftmaxCrossEntropy", kCPU, make_sparse_loss);
COHORT_KERNEL("SparseSoftmaxCrossEntropyGrad", kCPU, make_sparse_gradient);
COHORT_KERNEL("SparseSoftmaxCrossEntropyRows", kCPU, make_rows_loss);
COHORT_KERNEL("SparseSoftmaxCrossEntropyRowsGrad", kCPU, make_rows_gradient);
COHORT_KERNEL("SoftmaxCrossEntropyAndGrad", kCPU, make_both);
COHORT_KERNEL("SparseSoftmaxCrossEntropyAndGrad", kCPU, make_sparse_both);

}  // namespace
}  // namespace cohort
