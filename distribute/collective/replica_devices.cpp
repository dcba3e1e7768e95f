#include "cohort/distribute/collective/replica_devices.h"

#include <algorithm>

#include "cohort/core/device_listing.h"
#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort::distribute {

std::vector<Device*> replica_devices(const std::string& who, std::vector<std::string> names) {
  if (names.empty()) {
    for (const PhysicalDevice& device : list_physical_devices("GPU")) names.push_back(device.name);
    if (names.empty()) names.push_back("CPU:0");
  }
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
