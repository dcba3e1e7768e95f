#pragma once

#include <string>
#include <vector>

#include "cohort/distribute/strategies/strategy_handle.h"

namespace cohort::distribute {

// Trains on several devices of this process in step, with all variables on one device: each replica reads their values
// there, computes its part of the global batch and brings its gradients back; their sum updates the variables where
// they are. For models whose variables and optimizer state are too large for each device to hold.
class CentralStorageStrategy : public StrategyHandle {
 public:
  //   compute_devices: by name, each once; empty: all GPUs of the machine, or else its logical CPUs.
  //   parameter_device: where variables live; empty: the compute device where it is the only one, else CPU:0.
  explicit CentralStorageStrategy(const std::vector<std::string>& compute_devices = {},
                                  const std::string& parameter_device = {});
};

}  // namespace cohort::distribute
