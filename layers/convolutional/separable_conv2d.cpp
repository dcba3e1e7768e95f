#include "cohort/layers/convolutional/separable_conv2d.h"

namespace cohort::layers {
namespace {

[[maybe_unused]] const bool separable_conv2d_registered =
    Layer::registry().add("SeparableConv2D", [] { return std::make_shared<SeparableConv2DLayer>(); });

}  // namespace
}  // namespace cohort::layers
