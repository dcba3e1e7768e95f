#include "cohort/layers/core/dense.h"

#include <optional>

#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"

namespace cohort::layers {

DenseLayer::DenseLayer(std::int64_t units, DenseOptions options) : units_(units), options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
  DenseLayer::fields_changed();
}

void DenseLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  if (visitor.reads_config() || options_.activity_regularizer) {
    visitor.field("activity_regularizer", options_.activity_regularizer);
  }
  visitor.field("units", units_);
  visit_options(options_, visitor);
  std::optional<std::string> none;  // quantisation is not supported
  visitor.field("quantization_config", none);
}

void DenseLayer::fields_changed() {
  if (units_ <= 0) throw invalid_argument(class_name(), "units must be positive", {{"units", units_}});
  activity_regularizer_ = options_.activity_regularizer;
}

void DenseLayer::build(const Shape& input) {
  if (input.rank() < 2) {
    throw invalid_argument(title(), "input must have at least 2 axes (batch, ..., features)", {{"input.shape", input}},
                           "Add an axis with Reshape or expand_dims.");
  }
  if (input.back() == kUnknown) {
    throw invalid_argument(title(), "the last axis of the input must have a known size", {{"input.shape", input}});
  }
  kernel_ = add_weight("kernel", {input.back(), units_},
                       {.initializer = options_.kernel_initializer,
                        .dtype = dtype(),
                        .regularizer = options_.kernel_regularizer,
                        .constraint = options_.kernel_constraint});
  if (options_.use_bias) {
    bias_ = add_weight("bias", {units_},
                       {.initializer = options_.bias_initializer,
                        .dtype = dtype(),
                        .regularizer = options_.bias_regularizer,
                        .constraint = options_.bias_constraint});
  }
}

Tensor DenseLayer::call(const Tensor& input, const CallContext&) {
  const int rank = input.rank();
  if (rank < 2 || input.shape().back() != kernel_.shape()[0]) {
    throw invalid_argument(title(), "the last axis of the input must have size " + std::to_string(kernel_.shape()[0]),
                           {{"input.shape", input.shape()}});
  }
  // One large matrix product is faster than a batch of small ones.
  Tensor rows = ops::cast(input, compute_dtype());
  if (rank > 2) rows = ops::merge_axes(rows, 0, rank - 1);
  Tensor output = ops::matmul(rows, kernel_);
  if (options_.use_bias) output = output + bias_;
  if (rank > 2) output = ops::unmerge_axis(output, input, 0, 0, rank - 1);
  return options_.activation ? (*options_.activation)(output) : output;
}

COHORT_REGISTER(Layer, DenseLayer, "Dense");

Dense::Dense(std::int64_t units, DenseOptions options)
    : LayerHandle<DenseLayer>(std::make_shared<DenseLayer>(units, std::move(options))) {}

}  // namespace cohort::layers
