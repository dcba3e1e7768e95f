#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "cohort/core/dtype.h"
#include "cohort/core/shape.h"
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

// What is about to be made, for whoever chooses its device.
struct DeviceRequest {
  // The op, "MatMul"; "Variable" for a variable.
  std::string op = {};
  // Of a variable: its name, the type of its elements and its shape.
  std::string name = {};
  DType dtype = DType::Float32;
  Shape shape = {};
  // What the scopes inside of the chooser's ask for.
  DeviceSpec device = {};

  // Whether it is a variable.
  bool is_variable() const { return op == "Variable"; }
};

// Chooses a device: what it returns takes the place of the request's device, so it says what that says, and more.
using DeviceFunction = std::function<DeviceSpec(const DeviceRequest&)>;

// While it lives, what this thread makes is placed by its spec; fields it leaves open come from the scope around it.
class DeviceScope {
 public:
  // Begins the scope.
  explicit DeviceScope(const DeviceSpec& spec);
  // Begins one whose function is asked for each op that a graph gains and for each variable; an empty one chooses
  // nothing. Ops that run at once do not ask it.
  explicit DeviceScope(DeviceFunction function);

  // Its spec with the scopes around it merged in.
  const DeviceSpec& spec() const { return merged_; }

 private:
  friend DeviceSpec current_device_spec();
  friend DeviceSpec device_for(DeviceRequest request);
  friend Device* scoped_local_device();
  using Innermost = ThreadScope<DeviceScope, DeviceScope*>;
  DeviceSpec own_, merged_;
  DeviceFunction function_;
  Device* local_ = nullptr;  // looked up on first use
  Innermost innermost_;
};

// A scope by its spec's text: auto scope = ch::device("/GPU:1");
[[nodiscard]] DeviceScope device(std::string_view spec);
// A scope whose function chooses: auto scope = ch::device(replica_device_setter({.ps_tasks = 2}));
[[nodiscard]] DeviceScope device(DeviceFunction function);
// What the scopes of this thread ask for, but for their functions; empty outside of any.
DeviceSpec current_device_spec();
// What they ask for this, functions included: each is given what the scopes inside of it say.
DeviceSpec device_for(DeviceRequest request);
// The device of this process the scopes name; nullptr when they name none, or a task of a cluster.
Device* scoped_local_device();

}  // namespace cohort
