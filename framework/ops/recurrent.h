#pragma once

#include "cohort/core/tensor.h"

namespace cohort::ops {

// Whole recurrences as one op, for floating types: inputs (batch, steps, gates * units) are what each step adds to the
// product of the state before and `recurrent_kernel` (units, gates * units). A step that `mask` (batch, steps) leaves
// out keeps the states. With `reverse` the steps are taken from the end; results stay in their places. Half types are
// computed in float32 from the first step to the last.
struct RecurrentOptions {
  // Booleans (batch, steps); a step that is false keeps the states. Undefined: every step counts.
  Tensor mask = {};
  // Take the steps from the end; results stay in their places.
  bool reverse = false;
};

// What lstm gives.
struct LstmStates {
  Tensor h;       // after each step: (batch, steps, units)
  Tensor last_h;  // after the last step taken: (batch, units)
  // The cell state after the last step taken: (batch, units).
  Tensor last_c;
};
// Gates in the order i, f, c, o: c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c').
LstmStates lstm(const Tensor& inputs, const Tensor& h, const Tensor& c, const Tensor& recurrent_kernel,
                const RecurrentOptions& options = {});

// What gru and simple_rnn give.
struct RecurrentStates {
  Tensor h;     // after each step: (batch, steps, units)
  Tensor last;  // after the last step taken: (batch, units)
};
// Gates in the order z, r, h, with s = h @ recurrent_kernel + recurrent_bias (gates * units): h' = z h + (1 - z)
// tanh(x_h + r s_h).
RecurrentStates gru(const Tensor& inputs, const Tensor& h, const Tensor& recurrent_kernel, const Tensor& recurrent_bias,
                    const RecurrentOptions& options = {});
// h' = tanh(x + h @ recurrent_kernel).
RecurrentStates simple_rnn(const Tensor& inputs, const Tensor& h, const Tensor& recurrent_kernel,
                           const RecurrentOptions& options = {});

}  // namespace cohort::ops
