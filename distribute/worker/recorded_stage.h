#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cohort/graph/recorded_steps.h"

namespace cohort::distribute {

// What a stage keeps to be begun again on a device that records: one recording for each kind of inputs it meets. Used
// by one thread at a time.
class RecordedStage {
 public:
  // What runs the stage on `values`, followed by `resources`; nullptr where it must be run otherwise, always or for the
  // first time. Values that stand in `fixed` as well are there in every step.
  RecordedSteps* find(ExecutableCache& executables, Device& device, std::span<const Tensor> values,
                      std::span<const Tensor> resources, std::span<const Tensor> fixed);

 private:
  std::vector<std::unique_ptr<RecordedSteps>> recorded_;  // the newest last
  std::shared_ptr<Executable> last_, refused_;
};

}  // namespace cohort::distribute
