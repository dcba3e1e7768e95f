#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cohort/core/collective.h"
#include "cohort/core/device.h"
#include "cohort/core/error.h"

namespace cohort {

// The devices of this process in a group that reduces among itself, each device in its own streams. Thread-safe.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;
  // Puts a device's part of a reduction into one of its streams; all devices of the group do so in the same order.
  // Throws what has ended the group.
  //   device: its number among those here.   stream: as KernelIO names it.
  virtual void enqueue(int device, std::span<const Collective::Part> parts, const void* const* inputs,
                       void* const* outputs, Collective::Reduction reduction, void* stream) = 0;
  // Puts a sum in place into a stream beside this one, which it follows; wait() has a stream follow the oldest of them.
  virtual void start(int device, std::span<const Collective::Part> parts, void* const* values, void* stream) = 0;
  virtual void wait(int device, void* stream) = 0;
  // Whether a device may be at work on what was started and not waited for.
  virtual bool has_begun(int device) const = 0;
  // Forgets that, after end(): the memory is free when it returns.
  virtual void abandon(int device) noexcept = 0;
  // Ends reductions that are under way, whose values are then worth nothing, and all later ones. The first error
  // counts.
  virtual void end(const Error& why) noexcept = 0;
  // Throws what has ended it.
  virtual void check() const = 0;
};

// What the devices of one process know of the group they join.
struct DeviceGroupSetUp {
  // By which its members find one another: one that DeviceGroups::make_id gave to the first.
  std::vector<std::byte> id = {};
  std::vector<Device*> devices = {};
  // Of the group's devices: number of the first one here, and how many there are.
  int first = 0, size = 0;
  // How long all may take to join, and how long a reduction.
  std::chrono::milliseconds start_timeout{60'000}, timeout{600'000};
  // How long it takes at most until `look` knows of a process that is gone.
  std::chrono::milliseconds dead_after{5'000};
  // Who is awaited, for errors: "worker:1".
  std::string others = {};
  // Throws when another process of the group is gone; asked again and again, by a thread of the group.
  std::function<void()> look = {};
  // Told what the group has found out by itself and ended with.
  std::function<void(const Error&)> tell = {};
};

// Makes groups of devices of one type.
class DeviceGroups {
 public:
  virtual ~DeviceGroups() = default;
  // "NCCL"
  virtual const char* name() const = 0;
  // Why there can be none on this machine; empty where there can.
  virtual std::string missing() const = 0;
  // What stands for the hardware, on all machines: a group has each piece once.
  virtual std::string hardware_of(const Device& device) const = 0;
  // For one member of a group, which gives it to the others.
  virtual std::vector<std::byte> make_id() const = 0;
  // Returns when all members have joined.
  virtual std::unique_ptr<DeviceGroup> join(const DeviceGroupSetUp& set_up) const = 0;
};

// Makes known who makes groups of a type of devices; true, so that it can initialize a static variable.
bool register_device_groups(const std::string& type, std::unique_ptr<DeviceGroups> groups);
// Who makes groups of devices of this type; nullptr where nobody does.
const DeviceGroups* device_groups(const std::string& type);

}  // namespace cohort
