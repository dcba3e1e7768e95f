#include "cohort/distribute/worker/lane_results.h"

#include "cohort/distribute/collective/batch_rows.h"
#include "cohort/distribute/collective/summation.h"

namespace cohort::distribute {
namespace {

void set_accumulator(const Variable& accumulator, const Tensor& value) {
  auto& body = dynamic_cast<LocalVariable&>(*accumulator.body());
  Device& device = body.shared_value().device();
  const Tensor own = &value.device() == &device ? value.clone() : value.to(device);
  if (device.host_readable()) return body.replace_value(own);
  const DefaultDeviceScope there(&device);
  write_now(accumulator, own);
}

void add_to(Tensor& sum, const Tensor& value) {
  const void* const inputs[] = {sum.raw(), value.raw()};
  void* const outputs[] = {sum.raw()};
  sum_range(sum.dtype(), inputs, outputs, 0, sum.num_elements());
}

}  // namespace

void zero_accumulators(const WorkerFunction& function) {
  for (const WorkerFunction::Lane& lane : function.lanes) {
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      const TensorSpec& spec = function.inputs[i].spec;
      if (!lane.accumulators[i].defined()) continue;
      set_accumulator(lane.accumulators[i], Tensor::full(spec.shape, 0.0, spec.dtype, cpu()));
    }
  }
}

void add_outputs(const WorkerFunction& function, const WorkerDevices& devices, Tensors& outputs) {
  if (function.outputs.empty()) return;
  std::vector<Tensors> parts(function.outputs.size());  // by output
  for (std::size_t number = 0; number < function.lanes.size(); ++number) {
    const bool counts = number == 0 || (function.joins_outputs && devices.samples(static_cast<int>(number)) > 0);
    if (!counts) continue;
    Tensors values, on_host;
    for (int source : function.outputs) values.push_back(function.lanes[number].at(source));
    if (DeviceCopies* copies = devices.copies(static_cast<int>(number))) {
      copies->copy_to_host(values, on_host);
    } else {
      on_host = std::move(values);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i].push_back(std::move(on_host[i]));
  }
  for (const Tensors& each : parts) outputs.push_back(joined_rows(each));
}

void add_accumulators(const WorkerFunction& function, const WorkerDevices& devices, Tensors& values) {
  const std::size_t before = values.size();
  for (std::size_t number = 0; number < function.lanes.size(); ++number) {
    DeviceCopies* copies = devices.copies(static_cast<int>(number));
    Tensors there, own;
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      if (function.inputs[i].kind != WorkerFunction::Input::Kind::Accumulator) continue;
      const Variable& accumulator = function.lanes[number].accumulators[i];
      if (copies) {
        there.push_back(accumulator.body()->shared_value());
      } else {
        own.push_back(accumulator.body()->shared_value().to_host().clone());
      }
    }
    if (copies) copies->copy_to_host(there, own);
    if (number == 0) {
      values.insert(values.end(), own.begin(), own.end());
    } else {
      for (std::size_t i = 0; i < own.size(); ++i) add_to(values[before + i], own[i]);
    }
  }
}

SumsOfIdleLanes::SumsOfIdleLanes(const WorkerFunction& function, const WorkerDevices& devices) {
  for (std::size_t number = 0; function.meets && number < function.lanes.size(); ++number) {
    if (!devices.is_idle(static_cast<int>(number))) continue;
    for (const Variable& accumulator : function.lanes[number].accumulators) {
      if (accumulator.defined()) sums_.emplace_back(&accumulator, accumulator.body()->shared_value().to_host().clone());
    }
  }
}

void SumsOfIdleLanes::restore() const {
  for (const auto& [accumulator, value] : sums_) set_accumulator(*accumulator, value);
}

}  // namespace cohort::distribute
