#include "cohort/layers/convolutional/depthwise_conv1d.h"

namespace cohort::layers {
namespace {

[[maybe_unused]] const bool depthwise_conv1d_registered =
    Layer::registry().add("DepthwiseConv1D", [] { return std::make_shared<DepthwiseConv1DLayer>(); });

}  // namespace
}  // namespace cohort::layers
