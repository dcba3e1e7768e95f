#include "cohort/layers/recurrent/dropout_factors.h"

#include <algorithm>

#include "cohort/core/random.h"
#include "cohort/core/step_draws.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/random_ops.h"

namespace cohort::layers {

void DropoutFactors::set_seed(std::optional<std::int64_t> seed) {
  seed_ = seed ? static_cast<std::uint64_t>(*seed) : next_op_seed();
}

Tensors DropoutFactors::draw(const Tensor& like, double rate, int count) {
  Tensors factors;
  for (int i = 0; i < count; ++i) {
    const auto seed = static_cast<std::int64_t>(hash_combine(seed_, next_call(drawn_)) >> 1);
    factors.push_back(ops::dropout(ops::ones_like(like), rate, seed));
  }
  return factors;
}

Tensor dropped(const Tensor& x, const Tensors& factors, std::size_t gate) {
  return factors.empty() ? x : x * factors[std::min(gate, factors.size() - 1)];
}

}  // namespace cohort::layers
