#pragma once

#include <string>
#include <vector>

#include "cohort/core/device.h"

namespace cohort::distribute {

// The devices of replicas in step, by name, each once; none named: all GPUs of this machine, or else its logical CPUs.
//   who: asks, for errors.   argument: what holds the names.
std::vector<Device*> replica_devices(const std::string& who, const char* argument, std::vector<std::string> names);
// "GPU:0, GPU:1"
std::string device_names(const std::vector<Device*>& devices);

}  // namespace cohort::distribute
