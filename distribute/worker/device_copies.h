#pragma once

#include <memory>
#include <vector>

#include "cohort/core/pinned_memory.h"
#include "cohort/core/tensor.h"
#include "cohort/variables/variable_body.h"

namespace cohort::distribute {

// Values on their way between the host and a device that works beside it, through pinned memory and the copy stream:
// many copies are begun before one is waited for. Used by one thread at a time.
class DeviceCopies {
 public:
  explicit DeviceCopies(Device& device);

  Device& device() const { return device_; }

  // A variable of the device that gets a value of the host, by way of pinned memory that it keeps for the next time.
  struct Write {
    LocalVariable* variable;
    Tensor value;
    std::unique_ptr<PinnedMemory>* way;
  };
  // Begins these writes: work that was begun before still sees the old values, what is begun later the new ones.
  void write(const std::vector<Write>& writes);

  // Copies that are fetched from now on find done what the compute stream holds by now.
  void follow_compute();
  // Begins to copy a tensor of the device, which stays until it is finished, into `target`, of the host: into its
  // memory where nobody else has it. What lies on the host is there at once.
  void fetch(const Tensor& source, Tensor& target);
  // Waits for what is fetched. Throws what went wrong in the work that made it.
  void finish_fetches();
  // Adds copies of tensors of the device, in memory of their own, and tensors of the host; waits.
  void copy_to_host(const Tensors& sources, Tensors& copies);

 private:
  Device& device_;
  Tensors kept_;  // pinned memory of copy_to_host
  std::unique_ptr<DeviceEvent> computed_, written_, fetched_;
};

}  // namespace cohort::distribute
