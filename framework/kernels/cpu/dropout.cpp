#include <bit>
#include <cmath>

#include "cohort/kernels/cpu/random_rows.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {
namespace {

// The value, or zero, without a branch: it would be guessed wrong for every other element.
template <class T>
T kept_or_zero(T value, bool kept) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  return std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(value) & (Bits{0} - Bits{kept})));
}

KernelFn make_dropout(const KernelSpec& spec) {
  const RandomRows rows(spec.output(0).shape);
  const double rate = spec.attr<double>("rate");
  // Words below this drop their element: the comparison of integers is exact and cheap.
  const std::int64_t threshold = std::llround(rate * 4294967296.0);
  const bool keeps_any = threshold < (std::int64_t{1} << 32);
  const auto first_kept = static_cast<std::uint32_t>(threshold);
  return visit_floating(spec.output(0).dtype, [&]<class T>(T) -> KernelFn {
    const auto scale =
        static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(rate < 1 ? 1 / (1 - rate) : 0);
    return [=, seed = random_seed_of(spec)](const KernelIO& io) {
      const T* x = io.in<T>(0);
      T* y = io.out<T>(0);
      for_random_lanes(
          rows, *io.random, seed, [&](std::int64_t first, std::int64_t count, const RandomLanes::Words& words) {
            for_random_runs(
                rows, first, count, words, [&](std::int64_t at, const std::uint32_t* run, std::int64_t size) {
                  for (std::int64_t i = 0; i < size; ++i) {
                    y[at + i] = kept_or_zero(static_cast<T>(x[at + i] * scale), (run[i] >= first_kept) & keeps_any);
                  }
                });
          });
    };
  });
}

COHORT_KERNEL("Dropout", kCPU, make_dropout);

}  // namespace
}  // namespace cohort
