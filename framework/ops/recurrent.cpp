#include "cohort/ops/recurrent.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/mixed_types.h"
#include "cohort/core/op.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/gradient_or_zeros.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/slicing.h"

namespace cohort::ops {
namespace {

// Checks the inputs (batch, steps, gates * units), the states at 1 .. states, the recurrent kernel after them and the
// mask, if there is one, last; the shape of the states over all steps.
Shape check_recurrence(const OpCall& call, int gates, int states, int mask_at) {
  const DType dtype = call.dtype(0);
  call.check(dtype == DType::Float32 || dtype == DType::Float64, "inputs must be float32 or float64",
             {{"inputs.dtype", dtype}});
  call.check(call.rank(0) == 3, "inputs must have 3 axes (batch, steps, gates * units)",
             {{"inputs.shape", call.shape(0)}});
  const Shape &inputs = call.shape(0), &kernel = call.shape(states + 1);
  // Any of these may be unknown; one of them tells.
  std::int64_t units = inputs[2] == kUnknown ? kUnknown : inputs[2] / gates;
  if (units == kUnknown && kernel.rank() == 2) units = kernel[0];
  if (units == kUnknown && call.rank(1) == 2) units = call.shape(1)[1];
  const std::int64_t width = units == kUnknown ? kUnknown : gates * units;
  call.check(call.dtype(states + 1) == dtype && kernel.compatible({units, width}) &&
                 (inputs[2] == width || inputs[2] == kUnknown),
             "recurrent_kernel must be (units, " + std::to_string(gates) +
                 " * units) of the inputs' type, its last axis that of the inputs",
             {{"recurrent_kernel", call.spec(states + 1)}, {"inputs.shape", inputs}});
  for (int i = 1; i <= states; ++i) {
    call.check(call.dtype(i) == dtype && call.shape(i).compatible({inputs[0], units}),
               "a state must be (batch, units) of the inputs' type",
               {{"state", call.spec(i)}, {"inputs.shape", inputs}, {"units", units}});
  }
  if (mask_at < call.num_inputs()) {
    call.check(call.dtype(mask_at) == DType::Bool && call.shape(mask_at).compatible(inputs.slice(0, 2)),
               "mask must be (batch, steps) of booleans", {{"mask", call.spec(mask_at)}, {"inputs.shape", inputs}});
  }
  return {inputs[0], inputs[1], units};
}

// The outputs of these numbers. Half types are widened for the whole sequence, so that what one step hands to the next
// is not rounded.
Tensors run_recurrence(std::string_view op, Tensors arguments, const RecurrentOptions& options,
                       std::initializer_list<std::size_t> wanted) {
  const DType dtype = arguments[0].dtype();
  if (is_half(dtype)) {
    for (Tensor& argument : arguments) argument = cast(argument, DType::Float32);
  }
  if (options.mask.defined()) arguments.push_back(options.mask);
  const Tensors outputs = run_op_all(op, arguments, {{"reverse", options.reverse}});
  Tensors results;
  for (std::size_t i : wanted) results.push_back(is_half(dtype) ? cast(outputs[i], dtype) : outputs[i]);
  return results;
}

// (batch, steps, units) to (batch, steps, times * units).
Shape with_width(Shape states, std::int64_t times) {
  if (states[2] != kUnknown) states[2] *= times;
  return states;
}

// The state before each step, given that after each.
Tensor states_before(const Tensor& initial, const Tensor& after, bool reverse) {
  const Tensor first = expand_dims(initial, 1);
  if (reverse) return concatenate({strided_slice(after, {{}, {.begin = 1}}), first}, 1);
  return concatenate({first, strided_slice(after, {{}, {.end = -1}})}, 1);
}

// One product over all steps of all rows.
Tensor weight_gradient(const Tensor& before, const Tensor& gradient) {
  return run_op("MatMul", {merge_axes(before, 0, 2), merge_axes(gradient, 0, 2)}, {{"transpose_a", true}});
}

// Appends the mask and the gradient of the sequence, where they are, and says so.
Attributes optional_inputs(Tensors& inputs, const OpCall& call, int mask_at, const Tensor& sequence) {
  const bool masked = mask_at < call.num_inputs();
  if (masked) inputs.push_back(call.input(mask_at));
  if (sequence.defined()) inputs.push_back(sequence);
  return {{"reverse", call.attr<bool>("reverse")}, {"masked", masked}, {"sequence", sequence.defined()}};
}

void check_unused(const OpCall& call, const Tensor& gradient) {
  call.check(!gradient.defined(), "only states have a gradient, not what is kept for it");
}

Gradients no_second_order(const OpCall& call, std::span<const Tensor>) {
  throw unimplemented(call.name(), "a recurrence in one op has no gradient of its gradient", {},
                      "Make the layer with use_cudnn = false: its steps are ops of their own.");
}

Gradients with_mask(Tensors gradients, const OpCall& call) {
  Gradients all(gradients.begin(), gradients.end());
  all.resize(static_cast<std::size_t>(call.num_inputs()));
  return all;
}

}  // namespace

// Outputs: h and c of all steps, the gates, the last h and c.
COHORT_OP("LstmSequence")
    .inputs(4, 5)
    .attr("reverse", false)
    .infer([](const OpCall& call) -> Specs {
      const Shape states = check_recurrence(call, 4, 2, 4);
      const DType dtype = call.dtype(0);
      const TensorSpec last{dtype, {states[0], states[2]}};
      return {{dtype, states}, {dtype, states}, call.spec(0), last, last};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Gradients {
      check_unused(call, dy[1]);
      check_unused(call, dy[2]);
      const Tensor &h = call.input(1), &c = call.input(2), &kernel = call.input(3);
      Tensors inputs = {kernel, c, call.output(1), call.output(2), or_zeros(dy[3], h), or_zeros(dy[4], c)};
      const Attributes attributes = optional_inputs(inputs, call, 4, dy[0]);
      const Tensors flows = run_op_all("LstmSequenceGrad", inputs, attributes);
      const Tensor before = states_before(h, call.output(0), call.attr<bool>("reverse"));
      return with_mask({flows[0], flows[1], flows[2], weight_gradient(before, flows[0])}, call);
    });
COHORT_OP("LstmSequenceGrad")
    .inputs(6, 8)
    .attr("reverse", false)
    .attr("masked", false)
    .attr("sequence", false)
    .infer([](const OpCall& call) -> Specs {
      return {call.spec(3), call.spec(4), call.spec(5)};
    })
    .gradient(no_second_order);

// Outputs: h of all steps; z, r, the candidate and s_h of all steps; the last h.
COHORT_OP("GruSequence")
    .inputs(4, 5)
    .attr("reverse", false)
    .infer([](const OpCall& call) -> Specs {
      const Shape states = check_recurrence(call, 3, 1, 4);
      const DType dtype = call.dtype(0);
      call.check(call.dtype(3) == dtype && call.shape(3).rank() == 1,
                 "recurrent_bias must be (3 * units,) of the inputs' type", {{"recurrent_bias", call.spec(3)}});
      return {{dtype, states}, {dtype, with_width(states, 4)}, {dtype, {states[0], states[2]}}};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Gradients {
      check_unused(call, dy[1]);
      const Tensor &h = call.input(1), &kernel = call.input(2);
      Tensors inputs = {kernel, h, call.output(0), call.output(1), or_zeros(dy[2], h)};
      const Attributes attributes = optional_inputs(inputs, call, 4, dy[0]);
      const Tensors flows = run_op_all("GruSequenceGrad", inputs, attributes);
      const Tensor before = states_before(h, call.output(0), call.attr<bool>("reverse"));
      return with_mask({flows[0], flows[2], weight_gradient(before, flows[1]), sum(merge_axes(flows[1], 0, 2), 0)},
                       call);
    });
COHORT_OP("GruSequenceGrad")
    .inputs(5, 7)
    .attr("reverse", false)
    .attr("masked", false)
    .attr("sequence", false)
    .infer([](const OpCall& call) -> Specs {
      const TensorSpec sums{call.dtype(0), with_width(call.shape(2), 3)};
      return {sums, sums, call.spec(4)};
    })
    .gradient(no_second_order);

// Outputs: h of all steps, the last h.
COHORT_OP("SimpleRnnSequence")
    .inputs(3, 4)
    .attr("reverse", false)
    .infer([](const OpCall& call) -> Specs {
      const Shape states = check_recurrence(call, 1, 1, 3);
      return {{call.dtype(0), states}, {call.dtype(0), {states[0], states[2]}}};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Gradients {
      const Tensor &h = call.input(1), &kernel = call.input(2);
      Tensors inputs = {kernel, call.output(0), or_zeros(dy[1], h)};
      const Attributes attributes = optional_inputs(inputs, call, 3, dy[0]);
      const Tensors flows = run_op_all("SimpleRnnSequenceGrad", inputs, attributes);
      const Tensor before = states_before(h, call.output(0), call.attr<bool>("reverse"));
      return with_mask({flows[0], flows[1], weight_gradient(before, flows[0])}, call);
    });
COHORT_OP("SimpleRnnSequenceGrad")
    .inputs(3, 5)
    .attr("reverse", false)
    .attr("masked", false)
    .attr("sequence", false)
    .infer([](const OpCall& call) -> Specs {
      return {call.spec(1), call.spec(2)};
    })
    .gradient(no_second_order);

LstmStates lstm(const Tensor& inputs, const Tensor& h, const Tensor& c, const Tensor& recurrent_kernel,
                const RecurrentOptions& options) {
  const Tensors states = run_recurrence("LstmSequence", {inputs, h, c, recurrent_kernel}, options, {0, 3, 4});
  return {states[0], states[1], states[2]};
}

RecurrentStates gru(const Tensor& inputs, const Tensor& h, const Tensor& recurrent_kernel, const Tensor& recurrent_bias,
                    const RecurrentOptions& options) {
  const Tensors states = run_recurrence("GruSequence", {inputs, h, recurrent_kernel, recurrent_bias}, options, {0, 2});
  return {states[0], states[1]};
}

RecurrentStates simple_rnn(const Tensor& inputs, const Tensor& h, const Tensor& recurrent_kernel,
                           const RecurrentOptions& options) {
  const Tensors states = run_recurrence("SimpleRnnSequence", {inputs, h, recurrent_kernel}, options, {0, 1});
  return {states[0], states[1]};
}

}  // namespace cohort::ops
