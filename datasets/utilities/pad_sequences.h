#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::utils {

// What pad_sequences takes besides the sequences.
struct PadSequencesOptions {
  // Length of all; none: that of the longest.
  std::optional<std::int64_t> maxlen = std::nullopt;
  // Type of the result; numbers are converted to it as C++ does.
  DType dtype = DType::Int32;
  // Where a short sequence is filled up: "pre", before it, or "post", after it.
  std::string padding = "pre";
  // Where a long one is cut: "pre" or "post".
  std::string truncating = "pre";
  // What it is filled up with.
  double value = 0;
};

// Sequences as one tensor of shape (sequences, maxlen), the short ones filled up and the long ones cut.
//   sequences: any number of them.
Tensor pad_sequences(const std::vector<std::vector<std::int64_t>>& sequences, const PadSequencesOptions& options = {});
// The same for sequences of fractions.
Tensor pad_sequences(const std::vector<std::vector<double>>& sequences, const PadSequencesOptions& options = {});
// The same for sequences of tensors of one shape: sequence i has axis 0 of any size, the axes behind it are those of
// all.
Tensor pad_sequences(const Tensors& sequences, const PadSequencesOptions& options = {});

}  // namespace cohort::utils
