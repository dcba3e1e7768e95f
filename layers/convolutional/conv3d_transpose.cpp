#include "cohort/layers/convolutional/conv3d_transpose.h"

namespace cohort::layers {
namespace {

[[maybe_unused]] const bool conv3d_transpose_registered =
    Layer::registry().add("Conv3DTranspose", [] { return std::make_shared<Conv3DTransposeLayer>(); });

}  // namespace
}  // namespace cohort::layers
