#include "cohort/datasets/utilities/numpy_random.h"

#include <bit>

namespace cohort::utils {

std::uint64_t NumpyRandomState::interval(std::uint64_t most) {
  if (most == 0) return 0;
  const std::uint64_t mask = ~std::uint64_t{0} >> std::countl_zero(most);
  std::uint64_t value = 0;
  do {
    value = engine_();
    if (most > UINT32_MAX) value = value << 32 | engine_();
    value &= mask;
  } while (value > most);
  return value;
}

}  // namespace cohort::utils
