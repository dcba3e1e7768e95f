#include "cohort/distribute/strategies/central_storage_strategy.h"

#include "cohort/distribute/collective/replica_devices.h"
#include "cohort/distribute/strategies/in_step_strategy.h"

namespace cohort::distribute {
namespace {

std::shared_ptr<Strategy> make_central(const std::vector<std::string>& names, const std::string& parameter_device) {
  std::vector<Device*> devices = replica_devices("CentralStorageStrategy", "compute_devices", names);
  Device* home = devices.size() == 1 ? devices[0] : &cpu();
  if (!parameter_device.empty()) home = &device_named(parameter_device);
  if (devices.size() == 1 && devices[0] == home) return one_device_strategy(*home);
  return std::make_shared<InStepStrategy>(
      std::make_shared<ReplicaSet>(std::move(devices), nullptr, ReplicaSetOptions{.keeper = home}));
}

}  // namespace

CentralStorageStrategy::CentralStorageStrategy(const std::vector<std::string>& compute_devices,
                                               const std::string& parameter_device)
    : StrategyHandle(make_central(compute_devices, parameter_device)) {}

}  // namespace cohort::distribute
