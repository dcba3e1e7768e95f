#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "cohort/core/device_group.h"
#include "cohort/distribute/collective/nccl/device_progress.h"
#include "cohort/distribute/collective/nccl/nccl_library.h"
#include "cohort/distribute/collective/nccl/side_stream.h"

namespace cohort::distribute::collective {

// GPUs that reduce by NCCL. A thread looks whether the others are there, whether NCCL has met an error and whether the
// devices get on; what it finds ends the group, and with it the waits of the devices.
class NcclGroup : public DeviceGroup {
 public:
  // Of joined ones, by device.
  NcclGroup(const DeviceGroupSetUp& set_up, std::vector<ncclComm_t> communicators);
  ~NcclGroup() override;

  void enqueue(int device, std::span<const Collective::Part> parts, const void* const* inputs, void* const* outputs,
               Collective::Reduction reduction, void* stream) override;
  void start(int device, std::span<const Collective::Part> parts, void* const* values, void* stream) override;
  void wait(int device, void* stream) override;
  bool has_begun(int device) const override { return beside_[static_cast<std::size_t>(device)]->has_begun(); }
  void abandon(int device) noexcept override { beside_[static_cast<std::size_t>(device)]->abandon(); }
  void end(const Error& why) noexcept override;
  void check() const override;

 private:
  void watch();
  // Throws what it finds.
  void look();
  // Throws for an error of NCCL's, naming the process that is gone where one is.
  void check_result(ncclResult_t result);
  void give_up();

  const NcclLibrary& nccl_;
  const DeviceGroupSetUp set_up_;
  const std::vector<ncclComm_t> communicators_;
  std::vector<std::unique_ptr<SideStream>> beside_;  // by device, for whoever computes on it
  std::vector<std::unique_ptr<DeviceProgress>> progress_;
  std::atomic<bool> over_ = false;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<Error> why_;
  bool leaving_ = false;
  std::thread watcher_;  // last: it uses the rest
};

}  // namespace cohort::distribute::collective
