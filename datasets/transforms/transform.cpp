#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {

TransformStage::TransformStage(const char* who, const std::vector<Dataset>& inputs) {
  if (inputs.size() != 1) throw invalid_argument(who, "one input dataset is expected", {{"inputs", inputs.size()}});
  input_ = inputs[0];
}

}  // namespace cohort::datasets
