#include "cohort/layers/convolutional/separable_conv1d.h"

namespace cohort::layers {
namespace {

[[maybe_unused]] const bool separable_conv1d_registered =
    Layer::registry().add("SeparableConv1D", [] { return std::make_shared<SeparableConv1DLayer>(); });

}  // namespace
}  // namespace cohort::layers
