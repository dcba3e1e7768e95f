#include "cohort/layers/convolutional/conv3d.h"

namespace cohort::layers {
namespace {

[[maybe_unused]] const bool conv3d_registered =
    Layer::registry().add("Conv3D", [] { return std::make_shared<Conv3DLayer>(); });

}  // namespace
}  // namespace cohort::layers
