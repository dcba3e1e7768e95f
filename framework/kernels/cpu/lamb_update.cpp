#include <cmath>

#include "cohort/core/scratch.h"
#include "cohort/kernels/cpu/optimizer_update.h"

// Lamb scales a variable's step by the ratio of two norms over all of it, so every block is visited twice: once for the
// slots and its share of both norms, once for the step.

namespace cohort {
namespace {

Scratch norms;

template <class T>
struct LambStep {
  using Real = UpdateReal<T>;
  Real decay, rate, part_1, part_2, rest_1, rest_2, epsilon;

  Real direction(Real momentum, Real velocity) const {
    return momentum / rest_1 / (std::sqrt(velocity / rest_2) + epsilon);
  }
  // Decays the variable, moves the slots, and adds up the squares of the variable and of the direction.
  void look(T* value, T* momentum, T* velocity, const T* gradient, const T* squares, const UpdatePlan::Piece& piece,
            double* sums) const {
    double weight_squares = 0, step_squares = 0;
    for (std::int64_t i = piece.begin; i < piece.end; ++i) {
      const Real g = static_cast<Real>(gradient[i]);
      Real w = static_cast<Real>(value[i]), m = static_cast<Real>(momentum[i]), v = static_cast<Real>(velocity[i]);
      if (decay != Real{0}) {
        w -= w * decay * rate;
        value[i] = static_cast<T>(w);
      }
      m += (g - m) * part_1;
      v += ((squares ? static_cast<Real>(squares[i]) : g * g) - v) * part_2;
      momentum[i] = static_cast<T>(m);
      velocity[i] = static_cast<T>(v);
      const Real step = direction(m, v);
      weight_squares += static_cast<double>(w) * static_cast<double>(w);
      step_squares += static_cast<double>(step) * static_cast<double>(step);
    }
    sums[0] = weight_squares;
    sums[1] = step_squares;
  }
  void move(T* value, const T* momentum, const T* velocity, const UpdatePlan::Piece& piece, Real ratio) const {
    for (std::int64_t i = piece.begin; i < piece.end; ++i) {
      const Real step = direction(static_cast<Real>(momentum[i]), static_cast<Real>(velocity[i]));
      value[i] = static_cast<T>(static_cast<Real>(value[i]) - ratio * rate * step);
    }
  }
};

template <class T>
KernelFn make_lamb_of(const KernelSpec& spec) {
  using Real = UpdateReal<T>;
  const double decay = spec.attr<double>("weight_decay"), beta_1 = spec.attr<double>("beta_1");
  const double beta_2 = spec.attr<double>("beta_2"), epsilon = spec.attr<double>("epsilon");
  const UpdateLayout at(spec.call());
  auto plan = std::make_shared<const UpdatePlan>(update_sizes(spec, at));
  return [=](const KernelIO& io) {
    const Real step = static_cast<Real>(*io.in<std::int64_t>(at.shared(1)) + 1);
    const LambStep<T> lamb{static_cast<Real>(decay),
                           static_cast<Real>(*io.in<float>(at.shared(0))),
                           static_cast<Real>(1.0 - beta_1),
                           static_cast<Real>(1.0 - beta_2),
                           Real{1} - std::pow(static_cast<Real>(beta_1), step),
                           Real{1} - std::pow(static_cast<Real>(beta_2), step),
                           static_cast<Real>(epsilon)};
    const int count = at.count();
    const auto memory = [&](int input) { return static_cast<T*>(io.inputs[input]); };
    const auto pieces = static_cast<std::int64_t>(plan->pieces.size());
    double* sums = norms.get<double>(2 * pieces + 2 * count);
    double* ratios = sums + 2 * pieces;
    plan->run([&](const UpdatePlan::Piece& piece, std::size_t p) {
      const int v = piece.variable;
      lamb.look(memory(at.variable(v)), memory(at.slot(v, 0)), memory(at.slot(v, 1)), io.in<T>(at.gradient(v)),
                at.has_squares() ? io.in<T>(at.squares(v)) : nullptr, piece, sums + 2 * p);
    });
    // Piece by piece in their order, however the blocks were spread over threads.
    std::fill_n(ratios, 2 * count, 0.0);
    double* step_squares = ratios + count;
    for (std::int64_t p = 0; p < pieces; ++p) {
      const int variable = plan->pieces[static_cast<std::size_t>(p)].variable;
      ratios[variable] += sums[2 * p];
      step_squares[variable] += sums[2 * p + 1];
    }
    for (int v = 0; v < count; ++v) {
      const double weight = std::sqrt(ratios[v]), change = std::sqrt(step_squares[v]);
      ratios[v] = weight > 0 && change > 0 ? weight / change : 1.0;
    }
    plan->run([&](const UpdatePlan::Piece& piece, std::size_t) {
      const int v = piece.variable;
      lamb.move(memory(at.variable(v)), memory(at.slot(v, 0)), memory(at.slot(v, 1)), piece,
                static_cast<Real>(ratios[v]));
    });
  };
}

KernelFn make_lamb(const KernelSpec& spec) {
  return visit_floating(spec.input(UpdateLayout(spec.call()).gradient(0)).dtype,
                        [&]<class T>(T) -> KernelFn { return make_lamb_of<T>(spec); });
}

COHORT_KERNEL("LambUpdate", kCPU, make_lamb);

}  // namespace
}  // namespace cohort
