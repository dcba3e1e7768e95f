#pragma once

#include <string>
#include <vector>

#include "cohort/distribute/strategies/cross_device_ops.h"
#include "cohort/distribute/strategies/strategy_handle.h"

namespace cohort::distribute {

// How the replicas of a MirroredStrategy work together.
struct MirroredOptions {
  // How they reduce; what is fit for the devices unless said.
  CrossDeviceOps cross_device_ops = {};
};

// Trains on several devices of this process in step: each has a copy of every variable and computes its part of each
// global batch; gradients are summed over all of them before the update. Batches that fit and evaluate are given are
// global ones.
class MirroredStrategy : public StrategyHandle {
 public:
  //   devices: by name, "GPU:0", each once; empty: all GPUs of the machine, or else its logical CPUs.
  explicit MirroredStrategy(const std::vector<std::string>& devices = {}, const MirroredOptions& options = {});
};

// Variables and computation on one device of this process.
class OneDeviceStrategy : public StrategyHandle {
 public:
  //   device: its name, "CPU:0".
  explicit OneDeviceStrategy(const std::string& device);
};

}  // namespace cohort::distribute
