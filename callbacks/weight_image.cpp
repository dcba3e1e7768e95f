#include "cohort/callbacks/weight_image.h"

#include "cohort/ops/array.h"

namespace cohort::callbacks {
namespace {

Shape without_ones(const Shape& shape) {
  Shape kept;
  for (const std::int64_t size : shape) {
    if (size != 1) kept.push_back(size);
  }
  return kept;
}

}  // namespace

std::optional<Tensor> weight_image(const Tensor& weight) {
  if (!is_floating(weight.dtype()) || weight.num_elements() == 0) return std::nullopt;
  const Tensor host = weight.to_host();
  Tensor image = host.view(without_ones(host.shape()));
  switch (image.rank()) {
    case 1:
      image = image.view({1, image.shape()[0], 1, 1});
      break;
    case 2:
      if (image.shape()[0] > image.shape()[1]) image = ops::transpose(image, {1, 0});
      image = image.view({1, image.shape()[0], image.shape()[1], 1});
      break;
    case 3:
      image = ops::transpose(image, {2, 0, 1});
      image = image.view({image.shape()[0], image.shape()[1], image.shape()[2], 1});
      break;
    default:
      break;
  }
  if (image.rank() != 4) return std::nullopt;
  const std::int64_t channels = image.shape()[3];
  if (channels != 1 && channels != 3 && channels != 4) return std::nullopt;
  return image;
}

}  // namespace cohort::callbacks
