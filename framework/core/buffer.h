#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/core/intrusive.h"

namespace cohort {

// Memory of a tensor on one device, returned to the device's pool (or to whoever lent it) with its last owner.
class Buffer : public Counted<Buffer> {
 public:
  static Owned<Buffer> allocate(Device& device, std::size_t bytes);
  // The same, with what it is for: errors of a device that has too little memory say so, then and later.
  static Owned<Buffer> allocate(Device& device, std::size_t bytes, MemoryUse use);
  // Host memory, in all else the CPU's, that this device copies from and to by itself. It must not go while it does.
  static Owned<Buffer> allocate_pinned(Device& device, std::size_t bytes);
  // Memory of somebody else; `release` is called when nobody needs it any more.
  static Owned<Buffer> borrow(Device& device, void* memory, std::size_t bytes, std::function<void()> release);
  static Owned<Buffer> of_strings(std::vector<std::string> strings);
  ~Buffer();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device& device() const { return *device_; }
  // From a device, not lent by anybody.
  bool pooled() const { return from_ != nullptr; }
  // The device that copies from and to it by itself; nullptr where there is none.
  const Device* pinned_for() const { return from_ == device_ ? nullptr : from_; }

 private:
  Buffer(Device& device, void* data, std::size_t bytes) : device_(&device), data_(data), bytes_(bytes) {}
  Device* device_;
  void* data_;
  std::size_t bytes_;
  Device* from_ = nullptr;  // who gave the memory; nullptr: it is lent
  std::function<void()> release_;
  std::vector<std::string> strings_;
};

}  // namespace cohort
