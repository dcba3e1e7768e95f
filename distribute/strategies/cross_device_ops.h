#pragma once

#include <memory>
#include <string>
#include <vector>

namespace cohort {
class Device;
}

namespace cohort::distribute {

class ReplicaReduction;

// How replicas of one process reduce what each has computed. Of one way and one number of replicas the bits are the
// same in every run.
class CrossDeviceOps {
 public:
  // What a way does for given devices.
  class Body {
   public:
    virtual ~Body() = default;
    // For replicas on these devices; nullptr: as the devices do by themselves. Throws InvalidArgument where they
    // cannot.
    virtual std::shared_ptr<const ReplicaReduction> reduction_on(const std::vector<Device*>& devices) const = 0;
  };

  // What is fit for the devices.
  CrossDeviceOps() = default;
  // A way of one's own.
  explicit CrossDeviceOps(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  // For replicas on these devices; nullptr: as the devices do by themselves.
  std::shared_ptr<const ReplicaReduction> reduction_on(const std::vector<Device*>& devices) const;

 private:
  std::shared_ptr<const Body> body_;
};

// NCCL's all-reduce, between GPUs.
struct NcclAllReduce : CrossDeviceOps {
  //   num_packs: as in tf.distribute, at least 1; of no effect, for values are reduced as soon as they are there.
  explicit NcclAllReduce(int num_packs = 1);
};

// Neighbours reduce first, then their sums: pairwise on CPUs and on one host.
struct HierarchicalCopyAllReduce : CrossDeviceOps {
  //   num_packs: as in tf.distribute, at least 1; of no effect, for values are reduced as soon as they are there.
  explicit HierarchicalCopyAllReduce(int num_packs = 1);
};

// One of the devices adds up what all have, and the others copy it.
struct ReductionToOneDevice : CrossDeviceOps {
  //   reduce_to_device: its name, one of the replicas'; empty: the first one.
  explicit ReductionToOneDevice(const std::string& reduce_to_device = {});
};

}  // namespace cohort::distribute
