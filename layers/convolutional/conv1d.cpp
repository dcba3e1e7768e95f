#include "cohort/layers/convolutional/conv1d.h"

namespace cohort::layers {
namespace {

[[maybe_unused]] const bool conv1d_registered =
    Layer::registry().add("Conv1D", [] { return std::make_shared<Conv1DLayer>(); });

}  // namespace
}  // namespace cohort::layers
