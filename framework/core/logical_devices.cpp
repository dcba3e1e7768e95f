#include "cohort/core/logical_devices.h"

#include "cohort/core/device_listing.h"

namespace cohort {

std::vector<LogicalDevice> list_logical_devices(std::string_view device_type) {
  std::vector<LogicalDevice> devices;
  for (const PhysicalDevice& device : list_physical_devices(device_type)) {
    const int parts = num_logical_devices(device.device_type);
    for (int i = 0; i < parts; ++i) {
      devices.push_back({device.device_type + ":" + std::to_string(i), device.device_type});
    }
    if (parts == 0) devices.push_back({device.name, device.device_type});
  }
  return devices;
}

}  // namespace cohort
