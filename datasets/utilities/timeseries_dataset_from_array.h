#pragma once

#include <cstdint>
#include <optional>

#include "cohort/data/dataset.h"

namespace cohort::utils {

// What timeseries_dataset_from_array takes besides data, targets and length.
struct TimeseriesOptions {
  // Steps from the start of one sequence to the start of the next.
  std::int64_t sequence_stride = 1;
  // Steps from one value of a sequence to its next.
  std::int64_t sampling_rate = 1;
  // Sequences of a batch; 0: no batches.
  std::int64_t batch_size = 128;
  // Mix the sequences once, as Keras does with the same seed, and again in every epoch.
  bool shuffle = false;
  // Seed of that, from 0 to 2^32 - 1; none: a random one.
  std::optional<std::int64_t> seed = std::nullopt;
  // Steps before this one are left out.
  std::optional<std::int64_t> start_index = std::nullopt;
  // This step and those behind it are left out.
  std::optional<std::int64_t> end_index = std::nullopt;
};

// Sequences of consecutive steps, of which several overlap: windows that slide over data in memory.
//   data: axis 0 is time.
//   targets: target i belongs to the sequence that starts at step i; undefined: the sequences alone.
//   sequence_length: steps of a sequence.
Dataset timeseries_dataset_from_array(const Tensor& data, const Tensor& targets, std::int64_t sequence_length,
                                      const TimeseriesOptions& options = {});

}  // namespace cohort::utils
