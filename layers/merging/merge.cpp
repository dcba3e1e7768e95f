#include "cohort/layers/merging/merge.h"

#include <algorithm>

#include "cohort/ops/array.h"
#include "cohort/ops/math.h"

namespace cohort::layers {
namespace {

[[noreturn]] void refuse(const Layer& layer, const Shape& first, const Shape& other, const char* expected) {
  throw invalid_argument(layer.title(), expected, {{"inputs[0].shape", first}, {"input.shape", other}});
}

// After the batch, axes are compared from the back.
bool broadcast_together(const Shape& a, const Shape& b) {
  for (int i = 1; i < std::min(a.rank(), b.rank()); ++i) {
    const std::int64_t x = a[a.rank() - i], y = b[b.rank() - i];
    if (x != y && x != 1 && y != 1 && x != kUnknown && y != kUnknown) return false;
  }
  return true;
}

}  // namespace

MergeLayer::MergeLayer(const NameOption& options) {
  supports_masking_ = true;
  take_options(options);
}

void MergeLayer::build_many(const std::vector<Shape>& inputs) {
  if (inputs.empty()) throw invalid_argument(title(), "at least one input is expected", {{"inputs", 0}});
  for (const Shape& input : inputs) {
    if (input.rank() == 0 || inputs[0].rank() == 0) continue;
    if (input[0] != inputs[0][0] && input[0] != kUnknown && inputs[0][0] != kUnknown) {
      refuse(*this, inputs[0], input, "all inputs must have the same batch size");
    }
    if (!broadcast_together(inputs[0], input)) {
      refuse(*this, inputs[0], input, "the inputs' axes after the batch must agree or be 1");
    }
  }
}

Tensor MergeLayer::call(const Tensor& input, const CallContext&) {
  throw invalid_argument(title(), "a list of inputs is expected", {{"input.shape", input.shape()}},
                         "Call it with {a, b, ...}.");
}

Tensor MergeLayer::call_many(const Tensors& inputs, const CallContext& context) {
  std::vector<Shape> shapes;
  int rank = 0;
  for (const Tensor& input : inputs) {
    rank = std::max(rank, input.rank());
    shapes.push_back(input.shape());
  }
  MergeLayer::build_many(shapes);
  Tensors aligned, masks = context.mask.flatten();
  masks.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor input = inputs[i];
    // As in Keras, an input that gets new axes loses its mask.
    masks[i] = masks[i].defined() && input.rank() == rank ? ops::expand_dims(masks[i], -1) : Tensor();
    while (input.rank() < rank) input = ops::expand_dims(input, 1);
    aligned.push_back(input);
  }
  return merge(aligned, masks);
}

Element MergeLayer::compute_mask(const Element&, const Element& mask) {
  Tensor any;
  for (const Tensor& each : mask.flatten()) {
    if (!each.defined()) return {};
    any = any.defined() ? ops::logical_or(any, each) : each;
  }
  return any;
}

Tensor merge_pairwise(const Tensors& inputs, const Tensors& masks, Tensor (*combine)(const Tensor&, const Tensor&)) {
  Tensor result = inputs[0], result_mask = masks[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    Tensor input = inputs[i];
    if (masks[i].defined()) input = ops::where(masks[i], input, result);
    if (result_mask.defined()) result = ops::where(result_mask, result, input);
    result_mask = masks[i].defined() && result_mask.defined() ? ops::logical_or(result_mask, masks[i]) : Tensor();
    result = combine(result, input);
  }
  return result;
}

}  // namespace cohort::layers
