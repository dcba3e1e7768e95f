#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {

TransformStage::TransformStage(const char* who, const std::vector<Dataset>& inputs) {
  if (inputs.size() != 1) throw invalid_argument(who, "one input dataset is expected", {{"inputs", inputs.size()}});
  input_ = inputs[0];
}

void TransformIterator::advance_to(std::uint64_t position) {
  if (discard(*this, position, scratch_) < position) {
    throw invalid_argument("Iterator.restore", "a position inside the dataset is expected", {{"position", position}});
  }
}

}  // namespace cohort::datasets
