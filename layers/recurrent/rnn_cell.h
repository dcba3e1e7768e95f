#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// What a step returns: (batch, ...) each.
struct StepResult {
  Tensor output;
  Tensors states;
};

// One step of a recurrent layer: from an input (batch, ...) and states to an output and the next states. A user
// derives, makes weights in build(), says the shapes of the states and computes in step(). RNN runs it over a sequence.
class RnnCell : public Layer {
 public:
  using Step = std::function<StepResult(const Tensor& input, const Tensors& states)>;

  // Shapes of the states without the batch; known once the cell is built.
  virtual std::vector<Shape> state_shapes() const = 0;
  // Shape of the output without the batch: that of the first state unless the cell says otherwise.
  virtual Shape output_shape() const { return state_shapes().at(0); }
  // The output and the next states of one step, from input (batch, ...) and states (batch, ...).
  virtual StepResult step(const Tensor& input, const Tensors& states, const CallContext& context);
  // The step with all that stays the same over a sequence: weights read and dropout drawn once. `input` is any step.
  virtual Step prepare(const Tensor& input, const CallContext& context);

  // States of zeros for the batch of `like`, whose axis 0 it is.
  Tensors initial_state(const Tensor& like) const;
  // As a layer: {"inputs": x, "states": (h, c)} to (output, states...).
  std::vector<std::string> argument_names() const override { return {"inputs", "states"}; }
  Element call_element(const Element& inputs, const CallContext& context) override;

  // Makes a registered cell by its class name; throws where the name is not a cell's.
  static std::shared_ptr<RnnCell> from_name(std::string_view name);
};

// Calls the cell as a layer for one step.
StepResult call_cell(RnnCell& cell, const Tensor& input, const Tensors& states, const CallOptions& options);

// A cell's handle takes one step: LSTMCell(8)(x, {h, c}) gives .output and .states.
template <class Body>
struct CellHandle : LayerHandle<Body> {
  using LayerHandle<Body>::LayerHandle;
  // One step from input (batch, ...) and one tensor for each state.
  StepResult operator()(const Tensor& input, const Tensors& states, const CallOptions& options = {}) const {
    return call_cell(*this->get(), input, states, options);
  }
};

// Zeros of shape (batch, ...) for the batch of `like`, whose axis 0 it is.
Tensor batch_zeros(const Tensor& like, const Shape& shape, DType dtype);
// Builds a layer inside another, so that its weights' paths lie below the outer one's.
void build_inside(const Layer& outer, Layer& inner, const Shape& input);

}  // namespace cohort::layers
