#include "cohort/core/device_memory.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "cohort/core/device_spec.h"
#include "cohort/core/text.h"

namespace cohort {
namespace {

// As many as an error names.
constexpr std::size_t kUsersNamed = 5;

// What was asked for a device's memory, and the device once it has taken that.
struct MemorySettings {
  std::size_t limit = 0;
  bool growth = true;
  Device* taken_by = nullptr;
};

struct MemorySettingsTable {
  std::mutex mutex;
  std::map<std::string, MemorySettings> of_device;
};

MemorySettingsTable& memory_settings() {
  static auto* instance = new MemorySettingsTable;
  return *instance;
}

// "GPU:0" for whatever names one device of this process.
std::string local_device_name(const char* who, std::string_view device) {
  const DeviceSpec spec = DeviceSpec::from_string(device);
  if (!spec.device_type || spec.job || spec.replica || spec.task) {
    throw invalid_argument(who, "a device of this process is expected", {{"device", device}}, "For example GPU:0.");
  }
  if (*spec.device_type == "CPU") {
    throw invalid_argument(who, "a device with memory of its own is expected", {{"device", device}},
                           "The system limits what a process may have of the CPU's.");
  }
  return *spec.device_type + ":" + std::to_string(spec.device_index.value_or(0));
}

// "3.10 GiB"
std::string size_text(std::size_t bytes) {
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  double number = static_cast<double>(bytes) / 1024.0;
  std::size_t unit = 0;
  for (; number >= 1024.0; ++unit) number /= 1024.0;
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %s", number, units[unit]);
  return text;
}

}  // namespace

DeviceMemory Device::memory() { return {}; }
void Device::limit_memory(std::size_t) {
  throw unimplemented("set_memory_limit", "a device that counts its memory is expected", {{"device", name()}});
}
void Device::note_use(void*, std::size_t, MemoryUse) {}

DeviceMemory device_memory(Device& device) { return device.memory(); }
void reset_peak_memory(Device& device) { device.reset_peak_memory(); }

void set_memory_limit(std::string_view device, std::size_t bytes) {
  const std::string name = local_device_name("set_memory_limit", device);
  MemorySettingsTable& table = memory_settings();
  std::lock_guard lock(table.mutex);
  MemorySettings& settings = table.of_device[name];
  if (settings.taken_by) settings.taken_by->limit_memory(bytes);
  settings.limit = bytes;
}

void set_memory_growth(std::string_view device, bool growth) {
  const std::string name = local_device_name("set_memory_growth", device);
  MemorySettingsTable& table = memory_settings();
  std::lock_guard lock(table.mutex);
  MemorySettings& settings = table.of_device[name];
  if (settings.taken_by && settings.growth != growth) {
    throw failed_precondition("set_memory_growth", "a device that has not been used is expected", {{"device", name}},
                              "Call it at the start of the program.");
  }
  settings.growth = growth;
}

MemoryAccount::MemoryAccount(Device& device) : device_(device.name()) {
  MemorySettingsTable& table = memory_settings();
  std::lock_guard lock(table.mutex);
  MemorySettings& settings = table.of_device[device_];
  settings.taken_by = &device;
  memory_.limit = settings.limit;
  growth_ = settings.growth;
}

MemoryAccount::~MemoryAccount() {
  // A device that could not be made after all.
  MemorySettingsTable& table = memory_settings();
  std::lock_guard lock(table.mutex);
  table.of_device[device_].taken_by = nullptr;
}

void MemoryAccount::add(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  const bool fits = memory_.current <= memory_.limit && bytes <= memory_.limit - memory_.current;
  if (memory_.limit > 0 && !fits) throw exhausted_locked(bytes, "its limit allows no more");
  memory_.current += bytes;
  memory_.peak = std::max(memory_.peak, memory_.current);
}

void MemoryAccount::remove(const void* memory, std::size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  memory_.current -= bytes;
  if (bytes >= kNotedBytes) noted_.erase(memory);
}

void MemoryAccount::note(const void* memory, std::size_t bytes, std::string_view use) {
  if (bytes < kNotedBytes) return;
  std::lock_guard lock(mutex_);
  noted_.insert_or_assign(memory, Noted{bytes, std::string(use)});
}

DeviceMemory MemoryAccount::memory() const {
  std::lock_guard lock(mutex_);
  return memory_;
}

void MemoryAccount::reset_peak() {
  std::lock_guard lock(mutex_);
  memory_.peak = memory_.current;
}

void MemoryAccount::set_limit(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  memory_.limit = bytes;
}

Error MemoryAccount::exhausted(std::size_t bytes, std::string_view reason) const {
  std::lock_guard lock(mutex_);
  return exhausted_locked(bytes, reason);
}

Error MemoryAccount::exhausted_locked(std::size_t bytes, std::string_view reason) const {
  const std::string limit = memory_.limit > 0 ? size_text(memory_.limit) : "none";
  return Error(ErrorCode::ResourceExhausted, device_, size_text(bytes) + " of its memory are expected to be free",
               {{"reason", reason},
                {"in use", size_text(memory_.current)},
                {"limit", limit},
                {"largest users", largest_users()}},
               "Make batches smaller, compute in mixed precision (mixed_bfloat16), raise a limit that was set by "
               "set_memory_limit, or end other programs that use the device.");
}

std::string MemoryAccount::largest_users() const {
  struct Sum {
    std::size_t bytes = 0, pieces = 0;
  };
  std::map<std::string_view, Sum> by_use;
  std::size_t rest = memory_.current;
  for (const auto& [memory, noted] : noted_) {
    Sum& sum = by_use[noted.use];
    sum.bytes += noted.bytes;
    ++sum.pieces;
  }
  std::vector<std::pair<std::string_view, Sum>> users(by_use.begin(), by_use.end());
  std::stable_sort(users.begin(), users.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  users.resize(std::min(users.size(), kUsersNamed));
  std::vector<std::string> texts;
  for (const auto& [use, sum] : users) {
    const std::string times = sum.pieces > 1 ? std::to_string(sum.pieces) + " x " : "";
    texts.push_back(times + std::string(use) + ": " + size_text(sum.bytes));
    rest -= std::min(rest, sum.bytes);
  }
  if (rest > 0 || texts.empty()) texts.push_back("all others: " + size_text(rest));
  return join(texts);
}

}  // namespace cohort
