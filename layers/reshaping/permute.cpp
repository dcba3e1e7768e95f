#include "cohort/layers/reshaping/permute.h"

#include <algorithm>

#include "cohort/layers/layer_checks.h"
#include "cohort/ops/array.h"

namespace cohort::layers {

PermuteLayer::PermuteLayer(std::vector<std::int64_t> dims, NameOption options) : dims_(std::move(dims)) {
  take_options(options);
  PermuteLayer::fields_changed();
}

void PermuteLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("dims", dims_);
}

void PermuteLayer::fields_changed() {
  std::vector<std::int64_t> sorted = dims_;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i) + 1) {
      throw invalid_argument(class_name(), "dims must be an order of 1, 2, ..., the axes after the batch",
                             {{"dims", Shape(dims_)}});
    }
  }
}

Tensor PermuteLayer::call(const Tensor& input, const CallContext&) {
  check_rank(*this, input.shape(), static_cast<int>(dims_.size()) + 1, "(batch, and one for each of dims)");
  std::vector<std::int64_t> axes = {0};
  axes.insert(axes.end(), dims_.begin(), dims_.end());
  return ops::transpose(input, axes);
}

COHORT_REGISTER(Layer, PermuteLayer, "Permute");

Permute::Permute(std::vector<std::int64_t> dims, NameOption options)
    : LayerHandle<PermuteLayer>(std::make_shared<PermuteLayer>(std::move(dims), std::move(options))) {}

}  // namespace cohort::layers
