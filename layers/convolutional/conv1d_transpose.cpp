#include "cohort/layers/convolutional/conv1d_transpose.h"

namespace cohort::layers {
namespace {

[[maybe_unused]] const bool conv1d_transpose_registered =
    Layer::registry().add("Conv1DTranspose", [] { return std::make_shared<Conv1DTransposeLayer>(); });

}  // namespace
}  // namespace cohort::layers
