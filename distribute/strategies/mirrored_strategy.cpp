#include "cohort/distribute/strategies/mirrored_strategy.h"

#include "cohort/core/log.h"
#include "cohort/distribute/collective/replica_devices.h"
#include "cohort/distribute/strategies/communication.h"
#include "cohort/distribute/strategies/in_step_strategy.h"

namespace cohort::distribute {
namespace {

// One replica has nobody to meet.
std::shared_ptr<Strategy> make_mirrored(const std::vector<std::string>& names, const MirroredOptions& options) {
  std::vector<Device*> devices = replica_devices("MirroredStrategy", "devices", names);
  ReplicaSetOptions crossing{.group = {.reduction = options.cross_device_ops.reduction_on(devices)}};
  if (devices.size() == 1) return one_device_strategy(*devices[0]);
  if (!crossing.group.reduction) {
    const Communication communication = choose_communication(devices);
    crossing.group = communication.group;
    if (crossing.group.join_devices) crossing.bytes_per_pack = kBytesPerPackOfDevices;
    if (devices[0]->type() == "GPU") {
      log::info("MirroredStrategy: " + std::to_string(devices.size()) + " replicas in step by " + communication.chosen +
                ".");
    }
  }
  return std::make_shared<InStepStrategy>(std::make_shared<ReplicaSet>(std::move(devices), nullptr, crossing));
}

}  // namespace

MirroredStrategy::MirroredStrategy(const std::vector<std::string>& devices, const MirroredOptions& options)
    : StrategyHandle(make_mirrored(devices, options)) {}

OneDeviceStrategy::OneDeviceStrategy(const std::string& device)
    : StrategyHandle(one_device_strategy(device_named(device))) {}

}  // namespace cohort::distribute
