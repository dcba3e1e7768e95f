#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/distribute/collective/replica_group.h"
#include "cohort/distribute/collective/replica_threads.h"
#include "cohort/distribute/worker/device_copies.h"

namespace cohort::distribute {

// The devices that a worker computes on, and what replicas of a step on them meet by. Used by one thread at a time.
class WorkerDevices {
 public:
  // One replica on each device.
  //   devices: none: one replica, on what is the default device at the time.
  //   threads: of the process's pool that all of them may compute with; 0: all.
  explicit WorkerDevices(std::vector<Device*> devices, int threads = 0);

  // How many there are.
  int size() const { return static_cast<int>(replicas_.size()); }
  // Where a replica computes.
  Device& device(int replica) const { return *at(replica).device; }
  // A replica's way to a device that works beside the host; nullptr where the host reads what lies there.
  DeviceCopies* copies(int replica) const { return at(replica).copies.get(); }
  // What a replica meets the others by.
  const Tensor& collective(int replica) const { return at(replica).collective; }
  // What of the batch's mean the mean over a replica's samples is, a variable.
  const Tensor& loss_share(int replica) const { return at(replica).loss_share; }
  // Looks which device is the default one now, where none was given. Before all else.
  void follow_default();
  // Divides so many samples among the replicas, as even as can be: the first ones get those left over.
  void divide(std::int64_t samples);
  // Samples of a replica, and of those before it.
  std::int64_t samples(int replica) const { return at(replica).samples; }
  std::int64_t first_sample(int replica) const { return at(replica).first_sample; }
  // Whether a replica has none, while others do.
  bool is_idle(int replica) const { return replica > 0 && samples(replica) == 0; }
  // Runs the work of every replica at the same time, that of the first one on the calling thread; throws what went
  // wrong first.
  void run(const std::function<void(int replica)>& work);

 private:
  struct Replica {
    Device* device = nullptr;
    std::unique_ptr<DeviceCopies> copies;
    Tensor collective, loss_share;
    std::shared_ptr<LocalVariable> share;
    float known_share = 1.0f;
    std::int64_t samples = 0, first_sample = 0;
  };
  const Replica& at(int replica) const { return replicas_[static_cast<std::size_t>(replica)]; }
  void move_to(Replica& replica, Device& device) const;

  const bool follows_default_;
  const int threads_of_each_;
  std::vector<Replica> replicas_;
  ReplicaGroup group_;
  ReplicaThreads threads_;
};

// The devices of a task that was told to use these; without names those of WorkerDevices' default, unless there are
// several GPUs: then all of them.
//   who: the task, for errors.
std::vector<Device*> worker_devices(const std::string& who, const std::vector<std::string>& names);

// The same values on another device: without a copy where the host reads both.
Tensor seen_from(const Tensor& value, Device& device);

}  // namespace cohort::distribute
