#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/distribute/collective/replica_group.h"

namespace cohort::distribute {

// How many bytes of gradients devices reduce together, where nothing else is said: to begin a reduction costs them more
// than hosts, and large ones cross faster.
inline constexpr std::int64_t kBytesPerPackOfDevices = 25 << 20;

// How replicas exchange what they reduce.
struct Communication {
  // Whether their devices reduce among themselves, and whether rows of tables cross.
  ReplicaGroup::Options group = {};
  // "NCCL", or "RING" and why.
  std::string chosen = "RING";
};

// For replicas of one process: among GPUs where that can be.
Communication choose_communication(const std::vector<Device*>& devices);

// Throws for an implementation that is unknown, or not for these devices.
void check_communication(const std::string& implementation, const std::vector<Device*>& devices);
// For replicas of all workers, which have as many each, all call it and get the same.
//   implementation: "RING", "NCCL" or "AUTO".
Communication agree_on_communication(const std::string& implementation, const std::vector<Device*>& devices,
                                     const std::shared_ptr<collective::Communicator>& workers,
                                     const collective::CommunicatorOptions& options);

}  // namespace cohort::distribute
