#include "cohort/layers/reshaping/repeat_vector.h"

#include "cohort/layers/layer_checks.h"
#include "cohort/ops/array.h"
#include "cohort/ops/joining.h"

namespace cohort::layers {

RepeatVectorLayer::RepeatVectorLayer(std::int64_t n, NameOption options) : n_(n) { take_options(options); }

void RepeatVectorLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("n", n_);
}

Tensor RepeatVectorLayer::call(const Tensor& input, const CallContext&) {
  check_rank(*this, input.shape(), 2, "(batch, features)");
  return ops::tile(ops::expand_dims(input, 1), {1, n_, 1});
}

COHORT_REGISTER(Layer, RepeatVectorLayer, "RepeatVector");

RepeatVector::RepeatVector(std::int64_t n, NameOption options)
    : LayerHandle<RepeatVectorLayer>(std::make_shared<RepeatVectorLayer>(n, std::move(options))) {}

}  // namespace cohort::layers
