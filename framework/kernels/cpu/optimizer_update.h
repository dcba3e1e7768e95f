#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/core/mixed_types.h"
#include "cohort/core/thread_pool.h"
#include "cohort/core/update_layout.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {

// The work of an update over many variables, cut into blocks of about equal size that depend on shapes alone: a block
// is a list of pieces of variables. What is never cut is a unit: an element, unless `costs` says how many elements the
// units of each variable have (a row of a matrix, say); sizes and pieces count units.
struct UpdatePlan {
  struct Piece {
    int variable;
    std::int64_t begin, end;
  };
  static constexpr std::int64_t kBlock = 8192;

  explicit UpdatePlan(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& costs = {}) {
    std::int64_t room = kBlock;
    first_piece.push_back(0);
    for (std::size_t v = 0; v < sizes.size(); ++v) {
      const std::int64_t cost = costs.empty() ? 1 : std::max<std::int64_t>(costs[v], 1);
      for (std::int64_t begin = 0; begin < sizes[v];) {
        const std::int64_t end = std::min(sizes[v], begin + std::max<std::int64_t>(room / cost, 1));
        pieces.push_back({static_cast<int>(v), begin, end});
        room -= (end - begin) * cost;
        begin = end;
        if (room < cost) {
          first_piece.push_back(pieces.size());
          room = kBlock;
        }
      }
    }
    if (first_piece.back() != pieces.size()) first_piece.push_back(pieces.size());
  }
  std::int64_t blocks() const { return static_cast<std::int64_t>(first_piece.size()) - 1; }

  // Calls visit(piece, its number) for all pieces, blocks side by side on the pool.
  template <class Visit>
  void run(const Visit& visit) const {
    const auto run_block = [&](std::int64_t block) {
      const std::size_t last = first_piece[static_cast<std::size_t>(block) + 1];
      for (std::size_t p = first_piece[static_cast<std::size_t>(block)]; p < last; ++p) visit(pieces[p], p);
    };
    if (blocks() == 1) {
      run_block(0);
    } else {
      ThreadPool::instance().run_blocks(blocks(), run_block);
    }
  }

  std::vector<Piece> pieces;
  std::vector<std::size_t> first_piece;  // of each block, and the end
};

// Half types are kept in their own format and computed in float.
template <class T>
using UpdateReal = std::conditional_t<std::is_same_v<T, double>, double, float>;

// An element of a gradient and its square, which slices of a row have added up apart (AdamaxUpdate: its magnitude).
template <class Real>
struct UpdateGradient {
  Real value, square;
  operator Real() const { return value; }
};

// What an update reads of its gradient: values alone, their squares as well, or nothing where all of them are zero.
enum class UpdateInput { Values, ValuesAndSquares, Zeros };

// One pass over memory: reads each element of the gradient, the variable and its slots, applies the rule, writes back.
// The rule is made for this step's scalars: rule(gradient, variable, slots...). It computes as Keras does in the
// variable's type, operation by operation, so that a long training follows the same path.
template <UpdateInput kInput, class T, int kSlots, class Rule>
void update_piece(const Rule& given_rule, T* variable, const std::array<T*, kSlots>& given_slots, const T* gradient,
                  const T* squares, std::int64_t begin, std::int64_t end) {
  using Real = UpdateReal<T>;
  // Copies that nothing points to: as far as the compiler knows, what is written might change the originals.
  const Rule rule = given_rule;
  const std::array<T*, kSlots> slots = given_slots;
#pragma GCC ivdep
  for (std::int64_t i = begin; i < end; ++i) {
    Real value = static_cast<Real>(variable[i]);
    std::array<Real, kSlots> slot;
    for (int s = 0; s < kSlots; ++s) slot[s] = static_cast<Real>(slots[s][i]);
    const Real slope = kInput == UpdateInput::Zeros ? Real{0} : static_cast<Real>(gradient[i]);
    const Real square = kInput == UpdateInput::ValuesAndSquares ? static_cast<Real>(squares[i]) : slope * slope;
    rule(UpdateGradient<Real>{slope, square}, value, slot);
    for (int s = 0; s < kSlots; ++s) slots[s][i] = static_cast<T>(slot[s]);
    variable[i] = static_cast<T>(value);
  }
}

// The gradient's elements of a piece, as floats.
template <class Half>
void widen_piece(const Half* gradient, float* wide, const UpdatePlan::Piece& piece) {
  for (std::int64_t i = piece.begin; i < piece.end; ++i) *wide++ = static_cast<float>(gradient[i]);
}

// The elements of a variable that a piece has changed, rounded into its copy.
template <class Rounded>
void round_piece(const float* variable, Rounded* copy, const UpdatePlan::Piece& piece) {
  for (std::int64_t i = piece.begin; i < piece.end; ++i) copy[i] = static_cast<Rounded>(variable[i]);
}

// Weight decay comes first, on its own, as Keras assigns it before the update.
template <class Real>
struct WeightDecay {
  WeightDecay(double decay, Real learning_rate) : decay(static_cast<Real>(decay)), rate(learning_rate) {}
  void operator()(Real& value) const {
    if (decay != Real{0}) value -= value * decay * rate;
  }
  Real decay, rate;
};

// The sizes of an update's variables.
inline std::vector<std::int64_t> update_sizes(const KernelSpec& spec, const UpdateLayout& at) {
  std::vector<std::int64_t> sizes;
  for (int v = 0; v < at.count(); ++v) sizes.push_back(spec.input_size(at.gradient(v)));
  return sizes;
}

// The types of an update's gradients.
inline std::vector<DType> gradient_types(const KernelSpec& spec, const UpdateLayout& at) {
  std::vector<DType> types;
  for (int v = 0; v < at.count(); ++v) types.push_back(spec.input(at.gradient(v)).dtype);
  return types;
}

template <class T, int kSlots, class MakeRule>
KernelFn make_update_kernel_of(const KernelSpec& spec, MakeRule make_rule) {
  const UpdateLayout at(spec.call());
  auto plan = std::make_shared<const UpdatePlan>(update_sizes(spec, at));
  return [plan, make_rule, at, types = gradient_types(spec, at)](const KernelIO& io) {
    const auto rule = make_rule(io, at, UpdateReal<T>{});
    plan->run([&](const UpdatePlan::Piece& piece, std::size_t) {
      const int v = piece.variable;
      std::array<T*, kSlots> slots;
      for (int s = 0; s < kSlots; ++s) slots[s] = static_cast<T*>(io.inputs[at.slot(v, s)]);
      T* variable = static_cast<T*>(io.inputs[at.variable(v)]);
      const bool widened = std::is_same_v<T, float> && is_half(types[static_cast<std::size_t>(v)]);
      if (at.has_squares()) {
        update_piece<UpdateInput::ValuesAndSquares, T, kSlots>(rule, variable, slots, io.in<T>(at.gradient(v)),
                                                               io.in<T>(at.squares(v)), piece.begin, piece.end);
      } else if (!widened) {
        update_piece<UpdateInput::Values, T, kSlots>(rule, variable, slots, io.in<T>(at.gradient(v)), nullptr,
                                                     piece.begin, piece.end);
      }
      if constexpr (std::is_same_v<T, float>) {
        if (widened) {
          float wide[UpdatePlan::kBlock];  // no piece of elements is larger
          if (types[static_cast<std::size_t>(v)] == DType::BFloat16) {
            widen_piece(io.in<BFloat16>(at.gradient(v)), wide, piece);
          } else {
            widen_piece(io.in<Half>(at.gradient(v)), wide, piece);
          }
          for (float*& slot : slots) slot += piece.begin;
          update_piece<UpdateInput::Values, T, kSlots>(rule, variable + piece.begin, slots, wide, nullptr, 0,
                                                       piece.end - piece.begin);
        }
        if (!at.has_rounded()) return;
        void* copy = io.inputs[at.rounded(v)];
        if (at.rounded_type() == DType::BFloat16) {
          round_piece(variable, static_cast<BFloat16*>(copy), piece);
        } else {
          round_piece(variable, static_cast<Half*>(copy), piece);
        }
      }
    });
  };
}

// A kernel for the variables' type whose `make_rule(io, layout, real)` gives the rule of a step.
template <int kSlots, class MakeRule>
KernelFn make_update_kernel(const KernelSpec& spec, MakeRule make_rule) {
  return visit_floating(compute_type(spec.call(), UpdateLayout(spec.call()).gradient(0)),
                        [&]<class T>(T) -> KernelFn { return make_update_kernel_of<T, kSlots>(spec, make_rule); });
}

}  // namespace cohort
