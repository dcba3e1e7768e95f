#include "cohort/core/device_group.h"

#include <map>
#include <mutex>
#include <utility>

namespace cohort {
namespace {

// Modules of devices register theirs when they are loaded, on whichever thread that is.
struct GroupMakers {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<DeviceGroups>> by_type;
};
GroupMakers& group_makers() {
  static auto* makers = new GroupMakers;
  return *makers;
}

}  // namespace

bool register_device_groups(const std::string& type, std::unique_ptr<DeviceGroups> groups) {
  std::lock_guard lock(group_makers().mutex);
  return group_makers().by_type.emplace(type, std::move(groups)).second;
}

const DeviceGroups* device_groups(const std::string& type) {
  std::lock_guard lock(group_makers().mutex);
  const auto known = group_makers().by_type.find(type);
  return known == group_makers().by_type.end() ? nullptr : known->second.get();
}

}  // namespace cohort
