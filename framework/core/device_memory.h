#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cohort/core/device.h"
#include "cohort/core/error.h"

namespace cohort {

// How much of a device's memory this process uses for tensors, graphs and kernels, in bytes.
struct DeviceMemory {
  // In use now.
  std::size_t current = 0;
  // The most that was in use at once since the start or reset_peak_memory(); 0 where that is not counted, as on the
  // CPU.
  std::size_t peak = 0;
  // What may be in use at most; 0: as much as there is.
  std::size_t limit = 0;
};

// What is in use of a device's memory; all 0 where nothing is counted. Thread-safe, as are the next ones.
DeviceMemory device_memory(Device& device);
// From now on, peak is the most since now.
void reset_peak_memory(Device& device);
// Limits what may be in use of the memory of the device of this name, "GPU:0"; 0: no limit. The device need not have
// been used yet. Whoever asks for more gets ResourceExhausted; what is in use stays. The CPU's cannot be limited.
void set_memory_limit(std::string_view device, std::size_t bytes);
// Whether the device takes memory when it is needed (as at start), or, at its first use, all it may have: its limit, or
// nearly all that is free. To be called before that; later, another value throws FailedPrecondition.
void set_memory_growth(std::string_view device, bool growth);

// For devices that keep account of their memory: what is in use, and for the large pieces what they are for.
// Thread-safe.
class MemoryAccount {
 public:
  // From this size on it is kept what memory is for.
  static constexpr std::size_t kNotedBytes = std::size_t{1} << 20;

  // With the limit and the growth that were set for the device's name; later limits go to Device::limit_memory.
  explicit MemoryAccount(Device& device);
  ~MemoryAccount();
  MemoryAccount(const MemoryAccount&) = delete;

  // Counts memory that is about to be taken; throws exhausted() where the limit does not allow it.
  void add(std::size_t bytes);
  // Counts memory as given back, or as not taken after all.
  void remove(const void* memory, std::size_t bytes) noexcept;
  // Keeps what memory is for until it is given back; without effect below kNotedBytes.
  void note(const void* memory, std::size_t bytes, std::string_view use);

  // What is counted.
  DeviceMemory memory() const;
  // Counts the most that is in use anew.
  void reset_peak();
  // Sets how much may be in use at most; 0: as much as there is.
  void set_limit(std::size_t bytes);
  // Whether memory is taken when it is needed.
  bool growth() const { return growth_; }
  // The error for a request that cannot be served: what is in use, and by whom most. `reason` says why.
  Error exhausted(std::size_t bytes, std::string_view reason) const;

 private:
  struct Noted {
    std::size_t bytes = 0;
    std::string use;
  };
  Error exhausted_locked(std::size_t bytes, std::string_view reason) const;
  std::string largest_users() const;

  const std::string device_;
  bool growth_ = true;
  mutable std::mutex mutex_;
  DeviceMemory memory_;
  std::unordered_map<const void*, Noted> noted_;
};

}  // namespace cohort
