#pragma once

#include "cohort/core/device.h"
#include "cohort/variables/variable_body.h"
#include "cohort/variables/variable_creator.h"

namespace cohort::distribute {

// Puts variables on one device, wherever the thread that makes them computes.
class VariablesOnDevice : public VariableCreator {
 public:
  explicit VariablesOnDevice(Device& device) : device_(device) {}
  std::shared_ptr<VariableBody> create(const InitialValue& initial, const VariableOptions& options) override {
    Tensor value = initial.value().to(device_);
    // Memory of its own: what the caller holds must not change with the variable.
    if (initial.concrete()) value = value.clone();
    return std::make_shared<LocalVariable>(std::move(value), options);
  }

 private:
  Device& device_;
};

}  // namespace cohort::distribute
