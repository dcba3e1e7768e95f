#include "cohort/layers/convolutional/depthwise_conv2d.h"

namespace cohort::layers {
namespace {

[[maybe_unused]] const bool depthwise_conv2d_registered =
    Layer::registry().add("DepthwiseConv2D", [] { return std::make_shared<DepthwiseConv2DLayer>(); });

}  // namespace
}  // namespace cohort::layers
