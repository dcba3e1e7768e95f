#include "cohort/layers/convolutional/conv2d.h"

namespace cohort::layers {
namespace {

[[maybe_unused]] const bool conv2d_registered =
    Layer::registry().add("Conv2D", [] { return std::make_shared<Conv2DLayer>(); });

}  // namespace
}  // namespace cohort::layers
