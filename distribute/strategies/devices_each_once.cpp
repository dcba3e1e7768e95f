#include "cohort/distribute/strategies/devices_each_once.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort::distribute {

std::vector<Device*> devices_each_once(const std::vector<std::string>& names, std::string_view who) {
  std::vector<Device*> devices;
  for (const std::string& name : names) {
    Device* device = &device_named(name);
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) {
      throw invalid_argument(who, "each device may be listed once", {{"devices", join(names)}},
                             "A device computes for one replica.");
    }
    devices.push_back(device);
  }
  return devices;
}

}  // namespace cohort::distribute
