#include "cohort/distribute/strategies/mirrored_strategy.h"

#include <algorithm>

#include "cohort/core/device_listing.h"
#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/distribute/strategies/communication.h"
#include "cohort/distribute/strategies/in_step_runner.h"
#include "cohort/distribute/strategies/variables_on_device.h"

namespace cohort::distribute {
namespace {

class OneDevice : public Strategy {
 public:
  explicit OneDevice(Device& device) : device_(device), variables_(device) {}
  std::unique_ptr<StepRunner> make_runner(std::shared_ptr<Program> program, const RunnerData& data,
                                          const RunnerOptions& options) override {
    return std::make_unique<LocalRunner>(std::move(program), data, options, device_);
  }
  Element run_on_batch(Program& program, const Element& batch, const RandomState& random) override {
    const DefaultDeviceScope scope(&device_);
    return Strategy::run_on_batch(program, batch, random);
  }
  VariableCreator* variable_creator() override { return &variables_; }

 private:
  Device& device_;
  VariablesOnDevice variables_;
};

class Mirrored : public Strategy {
 public:
  Mirrored(std::vector<Device*> devices, const Communication& communication)
      : variables_(*devices[0]),
        replicas_(std::make_shared<ReplicaSet>(
            std::move(devices), nullptr,
            CrossingOptions{.bytes_per_pack = communication.join_devices ? kBytesPerPackOfDevices : 0,
                            .join_devices = communication.join_devices})) {}
  std::unique_ptr<StepRunner> make_runner(std::shared_ptr<Program> program, const RunnerData& data,
                                          const RunnerOptions& options) override {
    return std::make_unique<InStepRunner>(replicas_, std::move(program), data, options);
  }
  Element run_on_batch(Program& program, const Element& batch, const RandomState& random) override {
    ReplicaSteps steps(replicas_, program.shared_from_this());
    steps.divide(batch.flatten());
    Element outputs = steps.run(spec_of(batch), random);
    replicas_->variables().gather();
    return outputs;
  }
  int num_replicas_in_sync() const override { return replicas_->size(); }
  int num_local_replicas() const override { return replicas_->size(); }
  void run_on_replicas(const std::vector<std::int64_t>& rows, const std::function<void(int replica)>& code) override {
    replicas_->run_code(rows, code);
    replicas_->variables().gather();
  }
  const ReplicaContext* replica_context() const override { return &replicas_->context(0); }
  VariableCreator* variable_creator() override { return &variables_; }

 private:
  VariablesOnDevice variables_;
  const std::shared_ptr<ReplicaSet> replicas_;
};

std::vector<std::string> devices_of_machine() {
  std::vector<std::string> names;
  for (const PhysicalDevice& device : list_physical_devices("GPU")) names.push_back(device.name);
  if (names.empty()) names.push_back("CPU:0");
  return names;
}

std::vector<Device*> each_once(const std::vector<std::string>& names) {
  std::vector<Device*> devices;
  for (const std::string& name : names) {
    Device* device = &device_named(name);
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) {
      throw invalid_argument("MirroredStrategy", "each device may be listed once", {{"devices", join(names)}},
                             "A device computes for one replica.");
    }
    devices.push_back(device);
  }
  return devices;
}

// One replica has nobody to meet.
std::shared_ptr<Strategy> make_mirrored(const std::vector<std::string>& names) {
  std::vector<Device*> devices = each_once(names.empty() ? devices_of_machine() : names);
  if (devices.size() == 1) return std::make_shared<OneDevice>(*devices[0]);
  const Communication communication = choose_communication(devices);
  if (devices[0]->type() == "GPU") {
    log::info("MirroredStrategy: " + std::to_string(devices.size()) + " replicas in step by " + communication.chosen +
              ".");
  }
  return std::make_shared<Mirrored>(std::move(devices), communication);
}

}  // namespace

MirroredStrategy::MirroredStrategy(const std::vector<std::string>& devices) : StrategyHandle(make_mirrored(devices)) {}

OneDeviceStrategy::OneDeviceStrategy(const std::string& device)
    : StrategyHandle(std::make_shared<OneDevice>(device_named(device))) {}

}  // namespace cohort::distribute
