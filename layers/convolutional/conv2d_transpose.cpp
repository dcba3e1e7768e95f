#include "cohort/layers/convolutional/conv2d_transpose.h"

namespace cohort::layers {
namespace {

[[maybe_unused]] const bool registered =
    Layer::registry().add("Conv2DTranspose", [] { return std::make_shared<Conv2DTransposeLayer>(); });

}  // namespace
}  // namespace cohort::layers
