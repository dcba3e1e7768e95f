#include "cohort/core/device.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>

#include "cohort/core/device_module.h"
#include "cohort/core/device_spec.h"
#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/logical_devices.h"
#include "cohort/core/text.h"

namespace cohort {
namespace {

// Devices and their makers; never destroyed, since tensors in static storage return memory to them. A maker may ask for
// another device.
struct DeviceTable {
  std::recursive_mutex mutex;
  std::map<std::string, DeviceMaker> makers;
  std::map<std::pair<std::string, int>, std::unique_ptr<Device>> devices;
  std::map<std::string, int, std::less<>> logical;  // how many of a type there may be
};

DeviceTable& table() {
  static DeviceTable* instance = new DeviceTable;
  return *instance;
}

std::atomic<Device*> chosen_default{nullptr};

bool is_known(const std::string& type) {
  std::lock_guard lock(table().mutex);
  return table().makers.contains(type);
}

Device& device_of(const std::string& type, int index, std::string_view asked) {
  const std::string missing = is_known(type) ? "" : load_device_module(type);
  DeviceTable& t = table();
  std::lock_guard lock(t.mutex);
  auto found = t.devices.find({type, index});
  if (found != t.devices.end()) return *found->second;
  auto maker = t.makers.find(type);
  if (maker == t.makers.end()) {
    throw not_found("device", "a device of this machine is expected (" + missing + ")", {{"device", asked}},
                    "Device types here: " + join(t.makers, [](const auto& each) { return each.first; }) + ".");
  }
  if (const auto logical = t.logical.find(type); logical != t.logical.end() && index >= logical->second) {
    throw not_found("device", "one of the logical devices is expected",
                    {{"device", asked}, {"logical devices", logical->second}},
                    "Their number is what set_logical_devices was given.");
  }
  std::unique_ptr<Device> made = maker->second(index);  // may throw: then nothing is left behind
  return *(t.devices[{type, index}] = std::move(made));
}

Device& device_of_environment(const char* name) {
  try {
    return device_named(name);
  } catch (const Error& error) {
    throw Error(error.code(), std::string("COHORT_DEVICE: ") + error.what());
  }
}

Device& gpu_or_cpu() {
  if (!missing_for_devices("GPU").empty()) return cpu();
  try {
    return device_named("GPU:0");
  } catch (const Error& error) {
    // A driver without a GPU is nothing to remark upon; a GPU that cannot be used is.
    const std::string message = std::string("Cohort computes on the CPU. ") + error.what();
    error.code() == ErrorCode::NotFound ? log::debug(message) : log::warn(message);
    return cpu();
  }
}

// Chosen once; who has set one meanwhile is not overruled.
Device& choose_default() {
  static Device& first = [&]() -> Device& {
    const char* given = std::getenv("COHORT_DEVICE");
    return given && *given ? device_of_environment(given) : gpu_or_cpu();
  }();
  Device* set = nullptr;
  return chosen_default.compare_exchange_strong(set, &first, std::memory_order_acq_rel) ? first : *set;
}

}  // namespace

void* Device::allocate_pinned(std::size_t bytes) { return cpu().allocate(bytes); }
void Device::deallocate_pinned(void* memory, std::size_t bytes) { cpu().deallocate(memory, bytes); }
void Device::derive_turns(RandomState* turns, const RandomState* loop, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) turns[i] = turn_of(*loop, i);
}
std::unique_ptr<Recording> Device::record(const std::function<void()>&) {
  throw internal_error("Device", "a device that records is expected", {{"device", name()}});
}
void Device::record_branch(const bool*, const std::function<void()>&, const std::function<void()>&) {
  throw internal_error("Device", "a device that records branches is expected", {{"device", name()}});
}
void Device::record_loop(const RecordedLoop&) {
  throw internal_error("Device", "a device that records loops is expected", {{"device", name()}});
}

void rethrow_named(const KernelCall& call) {
  if (call.node == nullptr || call.node->empty()) throw;
  try {
    throw;
  } catch (const Error& error) {
    throw Error(error.code(), *call.node + ": " + error.what());
  }
}

bool register_device_type(const std::string& type, DeviceMaker maker) {
  DeviceTable& t = table();
  std::lock_guard lock(t.mutex);
  return t.makers.emplace(type, maker).second;
}

Device& device_named(std::string_view name) {
  std::string_view rest = name;
  if (rest.starts_with('/')) rest.remove_prefix(1);
  if (rest.starts_with("device:")) rest.remove_prefix(7);
  const std::size_t colon = rest.find(':');
  std::string type(rest.substr(0, colon));
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::toupper(c); });
  int index = 0;
  if (colon != std::string_view::npos) {
    const std::string_view digits = rest.substr(colon + 1);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error != std::errc() || end != digits.data() + digits.size() || index < 0) {
      throw invalid_argument("device", "a device is TYPE or TYPE:INDEX", {{"device", name}}, "For example CPU:0.");
    }
  }
  return device_of(type, index, name);
}

void set_logical_devices(std::string_view device_type, int count) {
  constexpr const char* kWho = "set_logical_devices";
  const std::string type(device_type);
  if (count < 1) throw invalid_argument(kWho, "count must be at least 1", {{"count", count}});
  if (type == "GPU") {
    throw unimplemented(kWho, "a GPU computes for one replica", {{"device_type", type}}, "Divide the \"CPU\".");
  }
  DeviceTable& t = table();
  std::lock_guard lock(t.mutex);
  if (!t.makers.contains(type)) {
    throw not_found(kWho, "a type of device is expected", {{"device_type", type}},
                    "Types here: " + join(t.makers, [](const auto& each) { return each.first; }) + ".");
  }
  if (const auto known = t.logical.find(type); known != t.logical.end()) {
    if (known->second == count) return;
    throw failed_precondition(kWho, "logical devices are set once", {{"count", count}, {"before", known->second}});
  }
  for (const auto& [key, device] : t.devices) {
    if (key.first != type || key.second == 0) continue;
    throw failed_precondition(kWho, "logical devices are set before they are used", {{"used", device->name()}},
                              "Call it at the beginning of the program.");
  }
  t.logical.emplace(type, count);
}

int num_logical_devices(std::string_view device_type) {
  std::lock_guard lock(table().mutex);
  const auto known = table().logical.find(device_type);
  return known == table().logical.end() ? 0 : known->second;
}

Device& cpu() {
  static Device& device = device_of("CPU", 0, "CPU:0");
  return device;
}

Device& default_device() {
  if (Device* scoped = scoped_local_device()) return *scoped;
  if (Device* of_thread = DefaultDeviceScope::current()) return *of_thread;
  Device* device = chosen_default.load(std::memory_order_acquire);
  return device ? *device : choose_default();
}

void set_default_device(std::string_view name) { chosen_default.store(&device_named(name), std::memory_order_release); }

}  // namespace cohort
