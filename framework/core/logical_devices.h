#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cohort {

// A device that a replica may compute on: a physical one, or a part of one that set_logical_devices has divided.
struct LogicalDevice {
  // "CPU:1"
  std::string name;
  // "CPU" or "GPU".
  std::string device_type;
};

// Divides the device of a type into so many logical ones, "CPU:0", "CPU:1" and so on, which share it: for what computes
// on several devices, on a machine that has one. To be called once, before others than the first are used; "GPU" is not
// divided. Without it one is listed, and whoever names others makes them.
void set_logical_devices(std::string_view device_type, int count);
// The devices of a type, "CPU" or "GPU"; all of them for an empty one. Thread-safe, as is the next one.
std::vector<LogicalDevice> list_logical_devices(std::string_view device_type = {});
// How many a type was divided into; 0: nobody has.
int num_logical_devices(std::string_view device_type);

}  // namespace cohort
