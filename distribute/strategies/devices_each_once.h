#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/device.h"

namespace cohort::distribute {

// The devices of replicas, by their names; throws InvalidArgument in the name of `who` where one is listed twice.
std::vector<Device*> devices_each_once(const std::vector<std::string>& names, std::string_view who);

}  // namespace cohort::distribute
