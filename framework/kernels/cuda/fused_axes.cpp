#include "cohort/kernels/cuda/fused_axes.h"

namespace cohort::kernels::cuda {

FusedAxes::FusedAxes(const KernelSpec& spec) {
  const Shape& output = spec.output(0).shape;
  const std::int64_t total = output.num_elements();
  std::vector<std::vector<std::int64_t>> all;  // strides by broadcast input and axis of the output
  for (int i = 0; i < spec.num_inputs(); ++i) {
    const Shape& shape = spec.input(i).shape;
    const std::int64_t elements = shape.num_elements();
    walks.push_back(elements == total ? Walk::Dense : elements == 1 ? Walk::Single : Walk::Broadcast);
    if (walks.back() != Walk::Broadcast) continue;
    std::vector<std::int64_t> own(static_cast<std::size_t>(output.rank()));
    std::int64_t stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (shape[axis] != 1) own[static_cast<std::size_t>(axis + output.rank() - shape.rank())] = stride;
      stride *= shape[axis];
    }
    all.push_back(std::move(own));
  }
  for (int axis = 0; axis < output.rank(); ++axis) {
    if (output[axis] == 1) continue;
    std::vector<std::int64_t> here;
    for (const auto& own : all) here.push_back(own[static_cast<std::size_t>(axis)]);
    bool joins = !sizes.empty();
    for (std::size_t i = 0; joins && i < here.size(); ++i) joins = strides.back()[i] == here[i] * output[axis];
    if (joins) {
      sizes.back() *= output[axis];
      strides.back() = here;
    } else {
      sizes.push_back(output[axis]);
      strides.push_back(here);
    }
  }
  if (sizes.empty()) {
    sizes.push_back(1);
    strides.emplace_back(all.size());
  }
}

Division::Division(std::uint32_t divisor) {
  while ((std::uint64_t{1} << shift) < divisor) ++shift;
  magic = static_cast<std::uint32_t>((((std::uint64_t{1} << shift) - divisor) << 32) / divisor + 1);
}

}  // namespace cohort::kernels::cuda
