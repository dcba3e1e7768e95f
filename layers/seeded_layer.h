#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// A layer that draws random numbers: from its seed, or from one of the process's when none is given.
class SeededLayer : public Layer {
 protected:
  explicit SeededLayer(std::optional<std::int64_t> seed) : given_(seed) {}
  // The "seed" of its config.
  void visit_seed(FieldVisitor& visitor) { visitor.field("seed", given_); }
  // To be called in fields_changed.
  void choose_seed();
  // Calls differ from one another: a layer used twice draws different numbers, and so does each call of eager code. A
  // traced call keeps its seed; what varies from step to step is the run's state.
  std::int64_t next_seed();

 private:
  std::optional<std::int64_t> given_;
  std::uint64_t seed_ = 0;
  std::atomic<std::uint64_t> calls_ = 0;
};

// Throws unless a rate lies in [0, 1].
void check_rate(const Layer& layer, const char* name, double rate);

// A tensor of ones with the shape that noise is drawn in: axes of size 1 in `noise_shape` share one number, the others
// are the input's.
Tensor noise_shape_of(const Layer& layer, const Tensor& input, const Shape& noise_shape);

}  // namespace cohort::layers
