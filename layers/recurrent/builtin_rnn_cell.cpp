#include "cohort/layers/recurrent/builtin_rnn_cell.h"

#include <algorithm>

#include "cohort/layers/layer_checks.h"

namespace cohort::layers {

BuiltinRnnCell::BuiltinRnnCell(std::int64_t units, int gates, BuiltinRnnCellOptions options)
    : units_(units), gates_(gates), options_(std::move(options)) {
  take_options(options_);
}

void BuiltinRnnCell::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_shared_fields(visitor);
  visit_seed(visitor);
}

void BuiltinRnnCell::visit_shared_fields(FieldVisitor& visitor) {
  visitor.field("units", units_);
  visitor.field("activation", options_.activation);
  if (has_recurrent_activation()) visitor.field("recurrent_activation", options_.recurrent_activation);
  visit_options(options_, visitor);
}

void BuiltinRnnCell::fields_changed() {
  if (units_ <= 0) throw invalid_argument(class_name(), "units must be positive", {{"units", units_}});
  if (!options_.activation) options_.activation = "linear";
  if (has_recurrent_activation() && !options_.recurrent_activation) options_.recurrent_activation = "linear";
  options_.dropout = std::clamp(options_.dropout, 0.0, 1.0);
  options_.recurrent_dropout = std::clamp(options_.recurrent_dropout, 0.0, 1.0);
  factors_.set_seed(options_.seed);
}

void BuiltinRnnCell::build(const Shape& input) {
  check_rank(*this, input, 2, "(batch, features)");
  if (input[1] == kUnknown) {
    throw invalid_argument(title(), "the last axis of the input must have a known size", {{"input.shape", input}});
  }
  kernel_ = add_weight("kernel", {input[1], gates_ * units_},
                       {.initializer = options_.kernel_initializer,
                        .dtype = dtype(),
                        .regularizer = options_.kernel_regularizer,
                        .constraint = options_.kernel_constraint});
  recurrent_kernel_ = add_weight("recurrent_kernel", {units_, gates_ * units_},
                                 {.initializer = options_.recurrent_initializer,
                                  .dtype = dtype(),
                                  .regularizer = options_.recurrent_regularizer,
                                  .constraint = options_.recurrent_constraint});
  if (!options_.use_bias) return;
  bias_ = add_weight("bias", bias_shape(),
                     {.initializer = bias_initializer(),
                      .dtype = dtype(),
                      .regularizer = options_.bias_regularizer,
                      .constraint = options_.bias_constraint});
}

CellDropout BuiltinRnnCell::draw_dropout(const Tensor& input, bool training) {
  CellDropout draw;
  if (!training) return draw;
  if (drops(options_.dropout)) draw.input = factors_.draw(input, options_.dropout, dropout_count());
  if (drops(options_.recurrent_dropout)) {
    const Tensor state = batch_zeros(input, {units_}, compute_dtype());
    draw.recurrent = factors_.draw(state, options_.recurrent_dropout, dropout_count());
  }
  return draw;
}

}  // namespace cohort::layers
