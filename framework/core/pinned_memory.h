#pragma once

#include <cstddef>

#include "cohort/core/device.h"

namespace cohort {

// Host memory that a device copies from and to by itself. Goes when no copy uses it any more.
class PinnedMemory {
 public:
  PinnedMemory(Device& device, std::size_t bytes)
      : device_(device), bytes_(bytes), data_(static_cast<char*>(device.allocate_pinned(bytes))) {}
  ~PinnedMemory() {
    device_.drain();
    device_.deallocate_pinned(data_, bytes_);
  }
  PinnedMemory(const PinnedMemory&) = delete;
  // Where it begins.
  char* data() const { return data_; }
  // How much it is.
  std::size_t bytes() const { return bytes_; }

 private:
  Device& device_;
  const std::size_t bytes_;
  char* const data_;
};

}  // namespace cohort
