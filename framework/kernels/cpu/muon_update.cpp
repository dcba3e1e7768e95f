#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "cohort/core/scratch.h"
#include "cohort/kernels/cpu/gemm.h"
#include "cohort/kernels/cpu/optimizer_update.h"
#include "cohort/kernels/cpu/row_sums.h"

// Muon makes the momentum of a matrix orthogonal by Newton-Schulz steps: an odd polynomial brings its singular values
// near 1. Matrices small enough for one thread are updated side by side; larger ones one after another, each on all
// threads.

namespace cohort {
namespace {

Scratch newton_schulz_memory;
constexpr std::int64_t kMuonChunk = 16384;

// The products for one shape. With x of rows x cols and n the smaller of both, the square is n x n: x x' for a wide
// matrix, x' x for a tall one.
template <class Real>
struct NewtonSchulz {
  NewtonSchulz(std::int64_t rows, std::int64_t cols)
      : wide(rows <= cols),
        side(std::min(rows, cols)),
        size(rows * cols),
        square({side, side, std::max(rows, cols), !wide, wide}),
        power({side, side, side, false, false}),
        step({rows, cols, side, false, false}) {}

  bool for_one_thread() const { return !square.shared() && !power.shared() && !step.shared(); }
  std::int64_t memory() const { return 2 * size + 2 * side * side; }

  // Leaves the result in x or in `spare` and says where.
  Real* run(std::int64_t steps, Real a, Real b, Real c, Real* x, Real* spare, Real* squares, Real* powers) const {
    for (std::int64_t i = 0; i < steps; ++i) {
      square.run(x, x, squares);
      power.run(squares, squares, powers);
      for (std::int64_t j = 0; j < side * side; ++j) powers[j] = b * squares[j] + c * powers[j];
      for (std::int64_t j = 0; j < side; ++j) powers[j * side + j] += a;
      if (wide) {
        step.run(powers, x, spare);
      } else {
        step.run(x, powers, spare);
      }
      std::swap(x, spare);
    }
    return x;
  }

  bool wide;
  std::int64_t side, size;
  Gemm<Real> square, power, step;
};

template <class T>
struct MuonPlan {
  using Real = UpdateReal<T>;
  std::vector<NewtonSchulz<Real>> matrices;
  std::vector<Real> scales;  // of the rate, for each variable
  std::vector<std::size_t> side_by_side, alone;
  Real decay, momentum, a, b, c;
  bool nesterov;
  std::int64_t steps;

  void update(std::size_t v, Real rate, T* value, T* momentums, const T* gradient) const {
    const NewtonSchulz<Real>& matrix = matrices[v];
    const std::int64_t size = matrix.size, chunks = (size + kMuonChunk - 1) / kMuonChunk;
    if (size == 0) return;
    // The partial sums first: doubles are the most strictly aligned.
    double* partial = newton_schulz_memory.get<double>(chunks + matrix.memory());
    Real *x = reinterpret_cast<Real*>(partial + chunks), *spare = x + size, *squares = spare + size;
    parallel_for(size, kMuonChunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Real g = static_cast<Real>(gradient[i]);
        Real m = static_cast<Real>(momentums[i]);
        m += g + m * (momentum - Real{1});
        momentums[i] = static_cast<T>(m);
        x[i] = nesterov ? g + momentum * m : m;
      }
      partial[begin / kMuonChunk] = kernels::sum_in_lanes<double>(end - begin, [&](std::int64_t i) {
        return static_cast<double>(x[begin + i]) * static_cast<double>(x[begin + i]);
      });
    });
    double sum = 0;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sum += partial[chunk];
    const Real norm = static_cast<Real>(std::sqrt(sum)) + static_cast<Real>(1e-7);
    parallel_for(size, kMuonChunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) x[i] /= norm;
    });
    const Real* direction = matrix.run(steps, a, b, c, x, spare, squares, squares + matrix.side * matrix.side);
    parallel_for(size, kMuonChunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        Real w = static_cast<Real>(value[i]);
        if (decay != Real{0}) w -= w * decay * rate;
        value[i] = static_cast<T>(w - rate * direction[i] * scales[v]);
      }
    });
  }
};

template <class T>
KernelFn make_muon_of(const KernelSpec& spec) {
  using Real = UpdateReal<T>;
  const auto real = [&](const char* name) { return static_cast<Real>(spec.attr<double>(name)); };
  const UpdateLayout at(spec.call());
  auto plan = std::make_shared<MuonPlan<T>>();
  plan->decay = real("weight_decay");
  plan->momentum = real("momentum");
  plan->a = real("a");
  plan->b = real("b");
  plan->c = real("c");
  plan->nesterov = spec.attr<bool>("nesterov");
  plan->steps = spec.attr<std::int64_t>("ns_steps");
  for (int v = 0; v < at.count(); ++v) {
    const Shape& shape = spec.input(at.gradient(v)).shape;
    plan->matrices.emplace_back(shape[0], shape[1]);
    const double longer = static_cast<double>(std::max(shape[0], shape[1]));
    plan->scales.push_back(real("rate_scale") *
                           static_cast<Real>(spec.attr<bool>("scale_by_size") ? std::sqrt(longer) : 1.0));
    (plan->matrices.back().for_one_thread() ? plan->side_by_side : plan->alone).push_back(static_cast<std::size_t>(v));
  }
  return [plan = std::shared_ptr<const MuonPlan<T>>(plan), at](const KernelIO& io) {
    const Real rate = static_cast<Real>(*io.in<float>(at.shared(0)));
    const auto update = [&](std::size_t v) {
      const int i = static_cast<int>(v);
      plan->update(v, rate, static_cast<T*>(io.inputs[at.variable(i)]), static_cast<T*>(io.inputs[at.slot(i, 0)]),
                   io.in<T>(at.gradient(i)));
    };
    for (const std::size_t v : plan->alone) update(v);
    ThreadPool::instance().run_blocks(static_cast<std::int64_t>(plan->side_by_side.size()),
                                      [&](std::int64_t i) { update(plan->side_by_side[static_cast<std::size_t>(i)]); });
  };
}

KernelFn make_muon(const KernelSpec& spec) {
  return visit_floating(spec.input(UpdateLayout(spec.call()).gradient(0)).dtype,
                        [&]<class T>(T) -> KernelFn { return make_muon_of<T>(spec); });
}

COHORT_KERNEL("MuonUpdate", kCPU, make_muon);

}  // namespace
}  // namespace cohort
