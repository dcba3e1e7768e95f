#include "cohort/core/device_listing.h"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>

#include "cohort/core/cpu_level.h"
#include "cohort/core/device_module.h"
#include "cohort/core/error.h"
#include "cohort/core/thread_pool.h"

namespace cohort {
namespace {

struct ListerTable {
  std::mutex mutex;
  std::map<std::string, DeviceLister> of_type;
};

ListerTable& lister_table() {
  static auto* instance = new ListerTable;
  return *instance;
}

DeviceLister lister_of(const std::string& type) {
  std::lock_guard lock(lister_table().mutex);
  const auto found = lister_table().of_type.find(type);
  return found == lister_table().of_type.end() ? nullptr : found->second;
}

// What follows `key` and a colon in a file of the system; empty where nothing does.
std::string system_value(const char* file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find_first_not_of(" \t", key.size());
    if (colon == std::string::npos || line[colon] != ':') continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

std::size_t system_memory(std::string_view key) {
  const std::string kilobytes = system_value("/proc/meminfo", key);
  return kilobytes.empty() ? 0 : static_cast<std::size_t>(std::stoull(kilobytes)) * 1024;
}

PhysicalDevice host_device() {
  PhysicalDevice host{.name = "CPU:0", .device_type = "CPU"};
  host.model = system_value("/proc/cpuinfo", "model name");
  // Not every architecture has names.
  if (utsname system{}; host.model.empty() && ::uname(&system) == 0) host.model = system.machine;
  try {
    host.capability = cpu_level();
  } catch (const Error& error) {
    host.problem = error.what();
  }
  host.processors = ThreadPool::instance().threads();
  host.memory_total = system_memory("MemTotal");
  host.memory_free = system_memory("MemAvailable");
  return host;
}

void add_gpus(DeviceListing& listing, bool thorough) {
  const std::string missing = missing_for_devices("GPU");
  // Without a driver there is no GPU; which of the libraries are there can still be said.
  if (!missing.empty() && !thorough) {
    listing.no_gpu = missing;
    return;
  }
  const std::string not_loaded = load_device_module("GPU");
  if (DeviceLister lister = lister_of("GPU")) lister(listing, thorough);
  if (!missing.empty()) listing.no_gpu = missing;
  if (!not_loaded.empty()) listing.no_gpu = not_loaded;
}

}  // namespace

bool register_device_lister(const std::string& device_type, DeviceLister lister) {
  std::lock_guard lock(lister_table().mutex);
  return lister_table().of_type.emplace(device_type, lister).second;
}

DeviceListing list_devices() {
  DeviceListing listing{.devices = {host_device()}};
  add_gpus(listing, true);
  return listing;
}

std::vector<PhysicalDevice> list_physical_devices(std::string_view device_type) {
  DeviceListing listing;
  if (device_type.empty() || device_type == "CPU") listing.devices.push_back(host_device());
  if (device_type.empty() || device_type == "GPU") add_gpus(listing, false);
  std::erase_if(listing.devices, [](const PhysicalDevice& device) { return !device.problem.empty(); });
  return listing.devices;
}

}  // namespace cohort
