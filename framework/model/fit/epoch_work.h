#pragma once

#include <cstdint>
#include <optional>

namespace cohort {

// What the training of an epoch did, for reports.
struct EpochWork {
  // Batches trained on.
  std::int64_t steps = 0;
  // Samples trained on; none: the runner does not see the batches, or was not asked to measure.
  std::optional<std::int64_t> examples = std::nullopt;
  // Seconds spent waiting for data, likewise.
  std::optional<double> seconds_waiting_for_data = std::nullopt;
};

}  // namespace cohort
