#include "cohort/layers/recurrent/builtin_rnn.h"

#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {

void BuiltinRnn::visit_fields(FieldVisitor& visitor) {
  RnnLayer::visit_fields(visitor);
  builtin_cell_->visit_shared_fields(visitor);
  visitor.field("activity_regularizer", given_activity_regularizer_);
  if (writes_seed()) builtin_cell_->visit_seed(visitor);
}

void BuiltinRnn::fields_changed() {
  RnnLayer::fields_changed();
  builtin_cell_->set_dtype_policy(dtype_policy());
  builtin_cell_->fields_changed();
  activity_regularizer_ = given_activity_regularizer_;
}

Tensor BuiltinRnn::projected(const Tensor& inputs, const Tensor& bias) const {
  const Tensor product = ops::matmul(inputs, builtin_cell_->kernel());
  return bias.defined() ? product + bias : product;
}

std::optional<RnnLayer::Rolled> BuiltinRnn::run_fused(const Tensor& sequences, const Tensors& initial,
                                                      const Tensor& mask, const CallContext& context) {
  const BuiltinRnnCellOptions& options = builtin_cell_->options();
  const bool possible = is_floating(sequences.dtype()) && !settings().unroll &&
                        options.activation->class_name() == "tanh" &&
                        !(context.training && options.recurrent_dropout > 0.0) && suits_op();
  if (use_cudnn_ == true && !possible) {
    throw invalid_argument(title(),
                           "use_cudnn = true needs the default activations, a floating type, no recurrent_dropout in "
                           "training, unroll = false, and in a GRU reset_after = true",
                           {{"use_cudnn", true}}, "Leave use_cudnn out to have it where it is possible.");
  }
  if (!possible || use_cudnn_ == false) return std::nullopt;
  Tensor inputs = sequences;
  if (context.training && options.dropout > 0.0) {
    const CellDropout draw = builtin_cell_->draw_dropout(ops::take_at(sequences, 0, 1), true);
    if (!draw.input.empty()) inputs = inputs * ops::expand_dims(draw.input[0], 1);
  }
  Tensors results = run_op_over(inputs, initial, mask);
  Rolled rolled;
  rolled.states.assign(results.begin() + 1, results.end());
  rolled.output = settings().return_sequences ? results[0] : results[1];
  if (mask.defined()) {
    // A step that is left out has the output of the step before, and zeros before the first that counts. The op has the
    // state there: the same, except that it starts from the initial state.
    Tensor counts = mask;
    if (!settings().zero_output_for_mask) {
      const Tensor so_far = ops::cumsum(ops::cast(mask, DType::Int32), 1, {.reverse = settings().go_backwards});
      counts = ops::greater(so_far, 0.0);
    }
    if (!settings().return_sequences) counts = ops::take_at(counts, settings().go_backwards ? 0 : -1, 1);
    rolled.output = ops::where(ops::expand_dims(counts, -1), rolled.output, 0.0);
  }
  if (settings().return_sequences && settings().go_backwards) rolled.output = ops::flip(rolled.output, {1});
  return rolled;
}

}  // namespace cohort::layers
