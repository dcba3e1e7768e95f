#include <algorithm>
#include <cmath>
#include <limits>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/visit.h"
#include "cohort/kernels/refusals.h"

namespace cohort {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
// What it costs to begin or end elsewhere than allowed: finite, so that a label too long for its steps has a loss.
const double kForbidden = std::log(1e-307);

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return a == kNever ? kNever : a + std::log1p(std::exp(b - a));
}

Scratch tables;

// One sample. States are label 0 (the start, never observed) to label L, then blank 0 to blank L; a blank follows its
// label, label k + 1 follows label k when they differ, or blank k.
template <class T>
struct Sample {
  std::int64_t steps, classes, length;
  std::int64_t blank;
  const std::int32_t* target;
  const T* logits;
  std::int64_t target_length, output_length;
  T* gradient;

  std::int64_t states() const { return 2 * (length + 1); }
  std::int64_t class_of(std::int64_t state) const {
    return state > length ? blank : static_cast<std::int64_t>(target[state - 1]);
  }
  bool may_skip(std::int64_t label) const { return label >= 2 && target[label - 2] != target[label - 1]; }
  bool ends(std::int64_t state) const { return state % (length + 1) == target_length; }

  // One step of the walk without what is observed: into `next` from `now`.
  void forward(const double* now, double* next) const {
    const std::int64_t labels = length + 1;
    for (std::int64_t k = 0; k < labels; ++k) {
      double label = now[k];
      if (k >= 1) label = log_add(label, now[labels + k - 1]);
      if (k == 1) label = log_add(label, now[0]);
      if (may_skip(k)) label = log_add(label, now[k - 1]);
      next[k] = label;
      next[labels + k] = log_add(now[labels + k], now[k]);
    }
  }
  // The same walk backwards.
  void backward(const double* now, double* before) const {
    const std::int64_t labels = length + 1;
    for (std::int64_t k = 0; k < labels; ++k) {
      double label = log_add(now[k], now[labels + k]), pause = now[labels + k];
      if (k + 1 < labels) {
        pause = log_add(pause, now[k + 1]);
        if (k == 0 || may_skip(k + 1)) label = log_add(label, now[k + 1]);
      }
      before[k] = label;
      before[labels + k] = pause;
    }
  }

  double run() const {
    const std::int64_t count = states();
    double* log_p = tables.get<double>(steps * classes + (steps + 3) * count + classes);
    double* reached = log_p + steps * classes;  // (steps, states): all that leads to a state
    double* later = reached + steps * count;    // (states) and two more rows to work in
    double* row = later + count;
    double* spare = row + count;
    double* share = spare + count;  // (classes)
    for (std::int64_t t = 0; t < steps; ++t) {
      const T* x = logits + t * classes;
      double largest = kNever, sum = 0;
      for (std::int64_t c = 0; c < classes; ++c) largest = std::max(largest, static_cast<double>(x[c]));
      for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(x[c]) - largest);
      const double norm = largest + std::log(sum);
      for (std::int64_t c = 0; c < classes; ++c) log_p[t * classes + c] = static_cast<double>(x[c]) - norm;
    }
    const auto observed = [&](std::int64_t t, std::int64_t state) {
      return state == 0 ? kNever : log_p[t * classes + class_of(state)];
    };
    std::fill_n(row, count, kForbidden);
    row[0] = 0;
    for (std::int64_t t = 0; t < output_length; ++t) {
      double* now = reached + t * count;
      forward(t == 0 ? row : now - count, now);
      for (std::int64_t s = 0; s < count; ++s) now[s] += observed(t, s);
    }
    for (std::int64_t s = 0; s < count; ++s) later[s] = ends(s) ? 0 : kForbidden;
    std::fill_n(gradient, steps * classes, T(0.0f));
    for (std::int64_t t = output_length - 1; t >= 0; --t) {
      const double* now = reached + t * count;
      double total = kNever;
      for (std::int64_t s = 0; s < count; ++s) total = log_add(total, now[s] + later[s]);
      std::fill_n(share, classes, 0.0);
      for (std::int64_t s = 1; s < count; ++s) {
        // A padding label is no label: what passes through its state counts for no class.
        if (s <= length && class_of(s) == blank) continue;
        share[class_of(s)] += std::exp(now[s] + later[s] - total);
      }
      for (std::int64_t c = 0; c < classes; ++c) {
        gradient[t * classes + c] = value_as<T>(std::exp(log_p[t * classes + c]) - share[c]);
      }
      for (std::int64_t s = 0; s < count; ++s) spare[s] = later[s] + observed(t, s);
      backward(spare, later);
    }
    return -later[0];  // all that begins at the start
  }
};

KernelFn make_ctc_loss(const KernelSpec& spec) {
  const Shape target = spec.input(0).shape, output = spec.input(1).shape;
  const std::int64_t batch = output[0], steps = output[1], classes = output[2], length = target[1];
  const auto blank = spec.attr<std::int64_t>("mask_index");
  return visit_floating(spec.input(1).dtype, [&]<class T>(T) -> KernelFn {
    return [=](const KernelIO& io) {
      const auto *labels = io.in<std::int32_t>(0), *target_length = io.in<std::int32_t>(2),
                 *output_length = io.in<std::int32_t>(3);
      for (std::int64_t i = 0; i < batch * length; ++i) {
        if (labels[i] < 0 || labels[i] >= classes) refuse_ctc_label(i, length, labels[i], classes);
      }
      for (std::int64_t b = 0; b < batch; ++b) {
        if (target_length[b] < 0 || target_length[b] > length || output_length[b] < 0 || output_length[b] > steps) {
          refuse_ctc_lengths(target_length[b], output_length[b]);
        }
      }
      const T* logits = io.in<T>(1);
      T *loss = io.out<T>(0), *gradient = io.out<T>(1);
      parallel_for(batch, 1, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin; b < end; ++b) {
          const Sample<T> sample{steps,
                                 classes,
                                 length,
                                 blank,
                                 labels + b * length,
                                 logits + b * steps * classes,
                                 target_length[b],
                                 output_length[b],
                                 gradient + b * steps * classes};
          loss[b] = value_as<T>(sample.run());
        }
      });
    };
  });
}

COHORT_KERNEL("CTCLoss", kCPU, make_ctc_loss);

}  // namespace
}  // namespace cohort
