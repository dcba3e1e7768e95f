#include "cohort/layers/convolutional/conv2d_transpose.h"

namespace cohort::layers {
namespace {

[[maybe_unused]] const bool conv2d_transpose_registered =
    Layer::registry().add("Conv2DTranspose", [] { return std::make_shared<Conv2DTransposeLayer>(); });

}  // namespace
}  // namespace cohort::layers
