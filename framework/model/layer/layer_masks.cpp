#include "cohort/model/layer/layer_masks.h"

#include <algorithm>

#include "cohort/core/masks.h"
#include "cohort/model/layer/layer.h"
#include "cohort/model/layer/layer_arguments.h"

namespace cohort {
namespace {

bool aligned(const Shape& mask, const Shape& input, int first) {
  for (int i = 0; i < mask.rank(); ++i) {
    const std::int64_t size = input[first + i];
    if (mask[i] != size && mask[i] != 1 && mask[i] != kUnknown && size != kUnknown) return false;
  }
  return true;
}

// A mask stands for the leading axes of an input (steps of a batch), or for its batch and last axis (steps behind the
// channels), or broadcasts over it (the scores of a Softmax).
bool fits(const Shape& mask, const Shape& input) {
  const int missing = input.rank() - mask.rank();
  if (missing < 0) return false;
  const bool channels_first = mask.rank() == 2 && input.rank() == 3;
  return aligned(mask, input, 0) || aligned(mask, input, missing) ||
         (channels_first && aligned(mask.slice(0, 1), input, 0) && aligned(mask.slice(1), input, 2));
}

}  // namespace

Element input_masks(const Layer& layer, const Element& inputs, const Element& given) {
  if (given.empty()) return inputs.map(mask_of);
  const std::string who = layer.title();
  if (!given.same_structure(inputs)) {
    throw invalid_argument(who, "a mask for each input is expected, in the inputs' structure",
                           {{"mask", structure_of(given)}, {"inputs", structure_of(inputs)}},
                           "Leave a tensor undefined where an input has no mask.");
  }
  const Tensors tensors = inputs.flatten(), masks = given.flatten();
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (masks[i].defined() && !fits(masks[i].shape(), tensors[i].shape())) {
      throw invalid_argument(who, "a mask must have the leading axes of its input, (batch, steps) as a rule",
                             {{"mask.shape", masks[i].shape()}, {"input.shape", tensors[i].shape()}});
    }
  }
  return given;
}

Element call_masks(const Layer& layer, const Element& inputs, const Element& carried) {
  const std::vector<std::string> names = layer.argument_names();
  if (inputs.size() < 2 || !is_called_by_name(layer, inputs)) return carried;
  Tensors kept;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool taken = std::find(names.begin(), names.end(), inputs.key(i) + "_mask") != names.end();
    for (const Tensor& mask : carried[i].flatten()) kept.push_back(taken ? mask : Tensor());
  }
  return inputs.with_leaves(kept);
}

void mask_outputs(Layer& layer, const Element& inputs, const Element& masks, const Element& outputs) {
  const Tensors tensors = outputs.flatten();
  const auto has_mask = [](const Tensor& output) { return mask_of(output).defined(); };
  if (std::all_of(tensors.begin(), tensors.end(), has_mask)) return;
  const Tensors computed = layer.compute_mask(inputs, masks).flatten();
  for (std::size_t i = 0; i < std::min(tensors.size(), computed.size()); ++i) {
    if (computed[i].defined() && !has_mask(tensors[i])) set_mask(tensors[i], computed[i]);
  }
}

}  // namespace cohort
