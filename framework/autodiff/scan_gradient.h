#pragma once

#include <cstddef>

#include "cohort/core/op.h"

namespace cohort {

// How the inputs of a Scan divide: carries, sequences, captures.
struct ScanLayout {
  std::size_t carries, sequences, total;
  explicit ScanLayout(const OpCall& call)
      : carries(static_cast<std::size_t>(call.attr<int>("num_carries"))),
        sequences(static_cast<std::size_t>(call.attr<int>("num_sequences"))),
        total(static_cast<std::size_t>(call.num_inputs())) {}
  std::size_t first_capture() const { return carries + sequences; }
};

// Specs of one turn: sequences lose their first axis.
Specs turn_specs(const OpCall& call, const ScanLayout& layout);

// The gradients of all inputs of a Scan from those of its outputs: another scan, which runs the other way.
Gradients scan_gradient(const OpCall& call, std::span<const Tensor> output_gradients);

}  // namespace cohort
