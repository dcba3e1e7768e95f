#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"

namespace cohort {

// The work of an update over many variables, cut into blocks of about equal size that depend on shapes alone: a block
// is a list of pieces of variables. What is never cut is a unit: an element, unless `costs` says how many elements the
// units of each variable have (a row of a matrix, say); sizes and pieces count units.
struct UpdatePlan {
  struct Piece {
    int variable;
    std::int64_t begin, end;
  };
  static constexpr std::int64_t kBlock = 16384;

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

// One pass over memory: reads each element of the gradient, the variable and its slots, applies the rule, writes back.
// The rule is made for this step's scalars: rule(gradient, variable, slots...).
template <bool kSquares, class T, int kSlots, class Rule>
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
    const Real slope = static_cast<Real>(gradient[i]);
    rule(UpdateGradient<Real>{slope, kSquares ? static_cast<Real>(squares[i]) : slope * slope}, value, slot);
    for (int s = 0; s < kSlots; ++s) slots[s][i] = static_cast<T>(slot[s]);
    variable[i] = static_cast<T>(value);
  }
}

// A kernel whose `make_rule(io, first shared input, real)` gives the rule of a step.
template <class T, int kSlots, class MakeRule>
KernelFn make_update_kernel(const KernelSpec& spec, MakeRule make_rule) {
  const int count = spec.attr<int>("count");
  const int first_gradient = (1 + kSlots) * count;
  std::vector<std::int64_t> sizes;
  for (int v = 0; v < count; ++v) sizes.push_back(spec.input_size(first_gradient + v));
  auto plan = std::make_shared<const UpdatePlan>(sizes);
  const bool squares = spec.attr<bool>("squares");
  const int shared = first_gradient + (squares ? 2 : 1) * count;
  return [plan, make_rule, count, first_gradient, shared, squares](const KernelIO& io) {
    const auto rule = make_rule(io, shared, UpdateReal<T>{});
    plan->run([&](const UpdatePlan::Piece& piece, std::size_t) {
      std::array<T*, kSlots> slots;
      for (int s = 0; s < kSlots; ++s) slots[s] = static_cast<T*>(io.inputs[(1 + s) * count + piece.variable]);
      T* variable = static_cast<T*>(io.inputs[piece.variable]);
      const T* gradient = io.in<T>(first_gradient + piece.variable);
      if (squares) {
        update_piece<true, T, kSlots>(rule, variable, slots, gradient,
                                      io.in<T>(first_gradient + count + piece.variable), piece.begin, piece.end);
      } else {
        update_piece<false, T, kSlots>(rule, variable, slots, gradient, nullptr, piece.begin, piece.end);
      }
    });
  };
}

// The kernel for the gradients' type.
template <int kSlots, class MakeRule>
KernelFn make_update_kernel(const KernelSpec& spec, MakeRule make_rule) {
  switch (spec.input((1 + kSlots) * spec.attr<int>("count")).dtype) {
    case DType::Float64:
      return make_update_kernel<double, kSlots>(spec, make_rule);
    case DType::Float16:
      return make_update_kernel<Half, kSlots>(spec, make_rule);
    case DType::BFloat16:
      return make_update_kernel<BFloat16, kSlots>(spec, make_rule);
    default:
      return make_update_kernel<float, kSlots>(spec, make_rule);
  }
}

}  // namespace cohort
