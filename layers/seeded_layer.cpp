#include "cohort/layers/seeded_layer.h"

#include <vector>

#include "cohort/core/random.h"
#include "cohort/core/step_draws.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {

void SeededLayer::choose_seed() { seed_ = given_ ? static_cast<std::uint64_t>(*given_) : next_op_seed(); }

std::int64_t SeededLayer::next_seed() { return static_cast<std::int64_t>(hash_combine(seed_, next_call(calls_)) >> 1); }

void check_rate(const Layer& layer, const char* name, double rate) {
  if (rate >= 0.0 && rate <= 1.0) return;
  throw invalid_argument(layer.class_name(), std::string(name) + " must lie in [0, 1]", {{name, rate}});
}

Tensor noise_shape_of(const Layer& layer, const Tensor& input, const Shape& noise_shape) {
  if (noise_shape.rank() != input.rank()) {
    throw invalid_argument(layer.title(), "noise_shape must have as many axes as the input",
                           {{"noise_shape", noise_shape}, {"input.shape", input.shape()}});
  }
  std::vector<std::int64_t> begin(static_cast<std::size_t>(input.rank()), 0), size;
  for (int i = 0; i < input.rank(); ++i) size.push_back(noise_shape[i] == 1 ? 1 : -1);
  return ops::ones_like(ops::slice(input, begin, size));
}

}  // namespace cohort::layers
