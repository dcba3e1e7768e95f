#include "cohort/distribute/worker/recorded_stage.h"

#include <algorithm>

namespace cohort::distribute {
namespace {

// A full batch and the last one of a pass, in training and in evaluation.
constexpr std::size_t kMostRecordedStages = 4;

}  // namespace

RecordedSteps* RecordedStage::find(ExecutableCache& executables, Device& device, std::span<const Tensor> values,
                                   std::span<const Tensor> resources, std::span<const Tensor> fixed) {
  for (const auto& recorded : recorded_) {
    if (recorded->takes(values)) return recorded.get();
  }
  Tensors inputs(values.begin(), values.end());
  inputs.insert(inputs.end(), resources.begin(), resources.end());
  const std::shared_ptr<Executable> executable = executables.specialize(inputs, device);
  const bool is_new = std::exchange(last_, executable) != executable;
  if (is_new || executable == refused_) return nullptr;
  Specs specs;
  for (const Tensor& value : values) specs.push_back(value.spec());
  std::unique_ptr<RecordedSteps> made = RecordedSteps::make(executable, device, specs, resources, 1, fixed);
  if (!made) {
    refused_ = executable;
    return nullptr;
  }
  if (recorded_.size() == kMostRecordedStages) recorded_.erase(recorded_.begin());
  return recorded_.emplace_back(std::move(made)).get();
}

}  // namespace cohort::distribute
