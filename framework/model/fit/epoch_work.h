#pragma once

#include <cstdint>
#include <optional>

namespace cohort {

// What the training of an epoch did, for reports.
struct EpochWork {
  std::int64_t steps = 0;
  // Where the runner sees the batches and was asked to measure.
  std::optional<std::int64_t> examples = std::nullopt;
  std::optional<double> seconds_waiting_for_data = std::nullopt;
};

}  // namespace cohort
