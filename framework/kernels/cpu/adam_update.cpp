#include <algorithm>
#include <bit>
#include <cmath>

#include "cohort/core/scratch.h"
#include "cohort/kernels/cpu/optimizer_update.h"
#include "cohort/kernels/index_check.h"

namespace cohort {
namespace {

Scratch slice_lists, row_gradients;

template <bool kAmsgrad>
struct AdamSettings {
  static constexpr int kSlots = kAmsgrad ? 3 : 2;
  double decay, beta_1, beta_2, epsilon, ratio;

  explicit AdamSettings(const KernelSpec& spec)
      : decay(spec.attr<double>("weight_decay")),
        beta_1(spec.attr<double>("beta_1")),
        beta_2(spec.attr<double>("beta_2")),
        epsilon(spec.attr<double>("epsilon")),
        ratio(spec.attr<double>("learning_rate_ratio")) {}

  // What a momentum is multiplied with in the step that follows `done` others.
  template <class Real>
  Real alpha(Real rate, std::int64_t done) const {
    const Real step = static_cast<Real>(done + 1);
    const Real power_1 = std::pow(static_cast<Real>(beta_1), step), power_2 = std::pow(static_cast<Real>(beta_2), step);
    return rate * static_cast<Real>(ratio) * std::sqrt(Real{1} - power_2) / (Real{1} - power_1);
  }
  // Whether that step leaves an element as it is whose slots are zero and which has no gradient.
  template <class Real>
  bool keeps_still(float rate, std::int64_t done) const {
    const Real factor = alpha(static_cast<Real>(rate), done);
    return decay == 0.0 && static_cast<Real>(epsilon) > Real{0} && factor >= Real{0} && std::isfinite(factor);
  }
  // The rule of that step.
  template <class Real>
  auto rule(float learning_rate, std::int64_t done) const {
    const Real rate = static_cast<Real>(learning_rate);
    return
        [decays = WeightDecay<Real>(decay, rate), alpha = alpha(rate, done), part_1 = static_cast<Real>(1.0 - beta_1),
         part_2 = static_cast<Real>(1.0 - beta_2), epsilon = static_cast<Real>(epsilon)](
            UpdateGradient<Real> gradient, Real& value, std::array<Real, kSlots>& slot) {
          decays(value);
          slot[0] += (gradient - slot[0]) * part_1;
          slot[1] += (gradient.square - slot[1]) * part_2;
          Real velocity = slot[1];
          if constexpr (kAmsgrad) {
            slot[2] = slot[2] > velocity ? slot[2] : velocity;
            velocity = slot[2];
          }
          value -= slot[0] * alpha / (std::sqrt(velocity) + epsilon);
        };
  }
};

template <bool kAmsgrad>
KernelFn make_adam_form(const KernelSpec& spec) {
  using Settings = AdamSettings<kAmsgrad>;
  const Settings settings(spec);
  return make_update_kernel<Settings::kSlots>(spec, [settings](const KernelIO& io, const UpdateLayout& at, auto real) {
    return settings.template rule<decltype(real)>(*io.in<float>(at.shared(0)), *io.in<std::int64_t>(at.shared(1)));
  });
}

KernelFn make_adam(const KernelSpec& spec) {
  return spec.attr<bool>("amsgrad") ? make_adam_form<true>(spec) : make_adam_form<false>(spec);
}

// The slices of each row, in their order: the first of a row and what follows each, -1 at the end. Refuses indices as
// the scatter does that this stands for.
using LinkSlices = void (*)(const void* indices, std::int64_t count, std::int64_t rows, std::int32_t* first,
                            std::int32_t* next);
template <class Index>
void link_slices(const void* given, std::int64_t count, std::int64_t rows, std::int32_t* first, std::int32_t* next) {
  const Index* indices = static_cast<const Index*>(given);
  for (std::int64_t i = 0; i < count; ++i) checked_index("ScatterAddLike", indices, i, rows);
  std::fill_n(first, rows, -1);
  for (std::int64_t i = count - 1; i >= 0; --i) {
    const auto row = static_cast<std::int64_t>(indices[i]);
    next[i] = first[row];
    first[row] = static_cast<std::int32_t>(i);
  }
}

// Whether all bits are zero.
template <class T>
bool all_zero(const T* values, std::int64_t count) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr std::int64_t kTogether = 32;
  Bits any = 0;
  std::int64_t i = 0;
  for (; i + kTogether <= count && any == 0; i += kTogether) {
    for (std::int64_t j = i; j < i + kTogether; ++j) any |= std::bit_cast<Bits>(values[j]);
  }
  for (; i < count && any == 0; ++i) any |= std::bit_cast<Bits>(values[i]);
  return any == 0;
}

// A table of rows that Adam moves by slices. The gradient is never laid out: most rows have none, and those of the
// others add up in the nearest cache. A row that none has ever reached is left alone where the step would, too.
template <class T, int kSlots>
struct SlicedTable {
  T* variable;
  std::array<T*, kSlots> slots;
  const T* values;
  std::int64_t width;
  const std::int32_t *first, *next;
  bool keeps_still;

  bool rests(std::int64_t row) const {
    return keeps_still &&
           std::all_of(slots.begin(), slots.end(), [&](const T* slot) { return all_zero(slot + row * width, width); });
  }

  template <class Rule>
  void update(const Rule& rule, std::int64_t begin, std::int64_t end) const {
    T *sums = row_gradients.get<T>(2 * width), *squares = sums + width;
    std::int64_t waiting = begin;  // rows from here on that have no gradient and move all the same
    const auto move_waiting = [&](std::int64_t before) {
      update_piece<UpdateInput::Zeros, T, kSlots>(rule, variable, slots, nullptr, nullptr, waiting * width,
                                                  before * width);
      waiting = before + 1;
    };
    for (std::int64_t row = begin; row < end; ++row) {
      if (first[row] < 0 && !rests(row)) continue;
      move_waiting(row);
      if (first[row] < 0) continue;
      std::fill_n(sums, 2 * width, T(0));
      for (std::int32_t i = first[row]; i >= 0; i = next[i]) add(values + i * width, sums, squares);
      std::array<T*, kSlots> own = slots;
      for (T*& slot : own) slot += row * width;
      update_piece<UpdateInput::ValuesAndSquares, T, kSlots>(rule, variable + row * width, own, sums, squares, 0,
                                                             width);
    }
    move_waiting(end);
  }
  void add(const T* slice, T* __restrict sums, T* __restrict squares) const {
    for (std::int64_t j = 0; j < width; ++j) sums[j] += slice[j];
    for (std::int64_t j = 0; j < width; ++j) squares[j] += slice[j] * slice[j];
  }
};

// Inputs: variable, slots, values (count, ...), indices (count), learning rate, iterations.
template <class T, bool kAmsgrad>
KernelFn make_slices_form(const KernelSpec& spec) {
  using Settings = AdamSettings<kAmsgrad>;
  constexpr int kSlots = Settings::kSlots, kValues = kSlots + 1;
  const std::int64_t rows = spec.attr<std::int64_t>("rows"), count = spec.input_size(kValues + 1);
  const std::int64_t width = spec.input(kValues).shape.slice(1).num_elements();
  const LinkSlices link =
      visit_index(spec.input(kValues + 1).dtype, []<class Index>(Index) -> LinkSlices { return link_slices<Index>; });
  return [=, settings = Settings(spec)](const KernelIO& io) {
    const float rate = *io.in<float>(kValues + 2);
    const std::int64_t done = *io.in<std::int64_t>(kValues + 3);
    const auto rule = settings.template rule<T>(rate, done);
    std::int32_t* first = slice_lists.get<std::int32_t>(rows + count);
    link(io.inputs[kValues + 1], count, rows, first, first + rows);
    SlicedTable<T, kSlots> table{static_cast<T*>(io.inputs[0]),
                                 {},
                                 io.in<T>(kValues),
                                 width,
                                 first,
                                 first + rows,
                                 settings.template keeps_still<T>(rate, done)};
    for (int s = 0; s < kSlots; ++s) table.slots[static_cast<std::size_t>(s)] = static_cast<T*>(io.inputs[s + 1]);
    const std::int64_t together = std::max<std::int64_t>(1, UpdatePlan::kBlock / std::max<std::int64_t>(1, width));
    parallel_for(rows, together, [&](std::int64_t begin, std::int64_t end) { table.update(rule, begin, end); });
  };
}

KernelFn make_adam_slices(const KernelSpec& spec) {
  const bool amsgrad = spec.attr<bool>("amsgrad");
  if (spec.input(amsgrad ? 4 : 3).dtype == DType::Float64) {
    return amsgrad ? make_slices_form<double, true>(spec) : make_slices_form<double, false>(spec);
  }
  return amsgrad ? make_slices_form<float, true>(spec) : make_slices_form<float, false>(spec);
}

COHORT_KERNEL("AdamUpdate", kCPU, make_adam);
COHORT_KERNEL("AdamSlicesUpdate", kCPU, make_adam_slices);

}  // namespace
}  // namespace cohort
