#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "cohort/core/thread_scope.h"

namespace cohort {

class Device;

// Names devices of a cluster, "/job:worker/replica:0/task:1/device:GPU:0"; whatever is left out is left open.
struct DeviceSpec {
  // "worker", "ps", ...; none: open.
  std::optional<std::string> job = {};
  // Number of the replica; none: open.
  std::optional<int> replica = {};
  // Number of the task within its job; none: open.
  std::optional<int> task = {};
  // "CPU" or "GPU", upper case; none: open.
  std::optional<std::string> device_type = {};
  // Number among the devices of its type; none: open.
  std::optional<int> device_index = {};

  // Reads the long form, the short ones ("/cpu:0", "GPU:1", "/job:ps") and "*" for an open number, parts in any order;
  // throws for unknown or repeated parts, negative numbers and anything else.
  static DeviceSpec from_string(std::string_view text);
  // The long form of what is set; an open index of a known type is "*".
  std::string to_string() const;
  // This spec with the fields that are set in `other` replaced.
  DeviceSpec make_merged_spec(const DeviceSpec& other) const;
  // True when everything is left open.
  bool empty() const { return *this == DeviceSpec{}; }
  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

std::ostream& operator<<(std::ostream& out, const DeviceSpec& spec);

// The full name for `device`: open fields come from `defaults`, then from /job:localhost/replica:0/task:0/device:CPU:0.
std::string canonicalize(std::string_view device, std::string_view defaults = {});

// While it lives, what this thread makes is placed by its spec; fields it leaves open come from the scope around it.
class DeviceScope {
 public:
  // Begins the scope.
  explicit DeviceScope(const DeviceSpec& spec);

  // Its spec with the scopes around it merged in.
  const DeviceSpec& spec() const { return merged_; }

 private:
  friend DeviceSpec current_device_spec();
  friend Device* scoped_local_device();
  using Innermost = ThreadScope<DeviceScope, DeviceScope*>;
  DeviceSpec merged_;
  Device* local_ = nullptr;  // looked up on first use
  Innermost innermost_;
};

// A scope by its spec's text: auto scope = ch::device("/GPU:1");
[[nodiscard]] DeviceScope device(std::string_view spec);
// What the scopes of this thread ask for; empty outside of any.
DeviceSpec current_device_spec();
// The device of this process the scopes name; nullptr when they name none, or a task of a cluster.
Device* scoped_local_device();

}  // namespace cohort
