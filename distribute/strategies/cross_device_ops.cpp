#include "cohort/distribute/strategies/cross_device_ops.h"

#include <algorithm>

#include "cohort/core/device.h"
#include "cohort/core/error.h"
#include "cohort/distribute/collective/pairwise_reduction.h"
#include "cohort/distribute/collective/reduction_at_one_replica.h"
#include "cohort/distribute/collective/replica_devices.h"

namespace cohort::distribute {
namespace {

void check_packs(const char* who, int num_packs) {
  if (num_packs >= 1) return;
  throw invalid_argument(who, "num_packs must be at least 1", {{"num_packs", num_packs}});
}

class Nccl : public CrossDeviceOps::Body {
 public:
  std::shared_ptr<const ReplicaReduction> reduction_on(const std::vector<Device*>& devices) const override {
    const auto is_gpu = [](const Device* device) { return device->type() == "GPU"; };
    if (std::all_of(devices.begin(), devices.end(), is_gpu)) return nullptr;
    throw invalid_argument("NcclAllReduce", "every replica must compute on a GPU", {{"devices", device_names(devices)}},
                           "Leave cross_device_ops out, or take HierarchicalCopyAllReduce.");
  }
};

class Hierarchical : public CrossDeviceOps::Body {
 public:
  std::shared_ptr<const ReplicaReduction> reduction_on(const std::vector<Device*>&) const override {
    return std::make_shared<PairwiseReduction>();
  }
};

class ToOneDevice : public CrossDeviceOps::Body {
 public:
  explicit ToOneDevice(std::string device) : device_(std::move(device)) {}
  std::shared_ptr<const ReplicaReduction> reduction_on(const std::vector<Device*>& devices) const override {
    const Device* wanted = device_.empty() ? devices[0] : &device_named(device_);
    const auto found = std::find(devices.begin(), devices.end(), wanted);
    if (found == devices.end()) {
      throw invalid_argument("ReductionToOneDevice", "reduce_to_device must be one of the replicas' devices",
                             {{"reduce_to_device", device_}, {"devices", device_names(devices)}});
    }
    return std::make_shared<ReductionAtOneReplica>(static_cast<int>(found - devices.begin()),
                                                   static_cast<int>(devices.size()));
  }

 private:
  const std::string device_;
};

}  // namespace

std::shared_ptr<const ReplicaReduction> CrossDeviceOps::reduction_on(const std::vector<Device*>& devices) const {
  return body_ ? body_->reduction_on(devices) : nullptr;
}

NcclAllReduce::NcclAllReduce(int num_packs) : CrossDeviceOps(std::make_shared<Nccl>()) {
  check_packs("NcclAllReduce", num_packs);
}

HierarchicalCopyAllReduce::HierarchicalCopyAllReduce(int num_packs) : CrossDeviceOps(std::make_shared<Hierarchical>()) {
  check_packs("HierarchicalCopyAllReduce", num_packs);
}

ReductionToOneDevice::ReductionToOneDevice(const std::string& reduce_to_device)
    : CrossDeviceOps(std::make_shared<ToOneDevice>(reduce_to_device)) {}

}  // namespace cohort::distribute
