#pragma once

#include <cstdint>
#include <optional>

namespace cohort {

// How a dataset is divided among workers; the numbers are tf.data's.
enum class AutoShardPolicy {
  // Not at all: every worker has all elements.
  Off = -1,
  // By files where there are enough of them, else by elements.
  Auto = 0,
  // Every worker has files of its own.
  File = 1,
  // Every worker has elements (batches) of its own, in the order of one machine.
  Data = 2,
};

// What Dataset::with_options takes. (Layers' Input has taken the name InputOptions.)
struct DatasetOptions {
  // How fit, evaluate and shard_for divide it among workers; none: as it is without this option.
  std::optional<AutoShardPolicy> auto_shard_policy = std::nullopt;
  // Bytes that each pass's elements in store may take where the framework chooses how many there are; none: stages
  // share what datasets::set_ram_budget gives the process.
  std::optional<std::int64_t> ram_budget = std::nullopt;
};

// What DatasetCreator takes besides the function.
struct DistributedInputOptions {
  // Pipelines that the data of a job is divided into, fixed when the job first starts and kept by its saved positions,
  // so that it may go on with any number of workers; 0: as many as there are workers then.
  std::int64_t num_input_pipelines = 0;
  // How what the function gives is divided further; Off: it divides by its InputContext.
  AutoShardPolicy auto_shard_policy = AutoShardPolicy::Off;
};

}  // namespace cohort
