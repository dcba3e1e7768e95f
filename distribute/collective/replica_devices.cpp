#include "cohort/distribute/collective/replica_devices.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/core/logical_devices.h"
#include "cohort/core/text.h"

namespace cohort::distribute {

std::vector<Device*> replica_devices(const std::string& who, const char* argument, std::vector<std::string> names) {
  for (const char* type : {"GPU", "CPU"}) {
    if (!names.empty()) break;
    for (const LogicalDevice& device : list_logical_devices(type)) names.push_back(device.name);
  }
  std::vector<Device*> devices;
  for (const std::string& name : names) {
    Device* device = &device_named(name);
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) {
      throw invalid_argument(who, "each device may be listed once", {{argument, join(names)}},
                             "A device computes for one replica.");
    }
    devices.push_back(device);
  }
  return devices;
}

std::string device_names(const std::vector<Device*>& devices) {
  return join(devices, [](const Device* device) { return device->name(); });
}

}  // namespace cohort::distribute
