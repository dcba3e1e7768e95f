#pragma once

#include <string>
#include <vector>

#include "cohort/core/device.h"

namespace cohort::distribute {

// The devices of replicas in step, by name; none named: all GPUs of this machine, or else its CPU. Throws where one is
// named twice.
//   who: asks, for the error.
std::vector<Device*> replica_devices(const std::string& who, std::vector<std::string> names);

}  // namespace cohort::distribute
