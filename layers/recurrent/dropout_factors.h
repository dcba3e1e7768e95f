#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "cohort/core/tensor.h"

namespace cohort::layers {

// A draw of dropout that holds for a whole sequence: factors beside the inputs and the states, none where nothing is
// dropped. With several, each gate has its own.
struct CellDropout {
  Tensors input, recurrent;
};

// Draws such factors. As in Dropout, calls differ from one another, and a traced call varies with the run's state.
class DropoutFactors {
 public:
  // Starts over from this seed; none: from one of the process's.
  void set_seed(std::optional<std::int64_t> seed);
  // `count` tensors like `like`: 0 with probability `rate`, else 1 / (1 - rate).
  Tensors draw(const Tensor& like, double rate, int count);

 private:
  std::uint64_t seed_ = 0;
  std::atomic<std::uint64_t> drawn_ = 0;
};

// x times the i-th factor of a draw, the only factor, or itself.
Tensor dropped(const Tensor& x, const Tensors& factors, std::size_t gate = 0);

}  // namespace cohort::layers
