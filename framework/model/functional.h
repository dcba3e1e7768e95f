#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cohort/model/layer/layer.h"
#include "cohort/model/symbols/symbolic_tensor.h"

namespace cohort {

// The layer calls between a functional model's inputs and outputs, in an order in which they can run.
class FunctionalGraph {
 public:
  // Throws when an output does not come from the inputs alone.
  FunctionalGraph(Symbols inputs, Symbols outputs, const std::string& who);

  Element run(const Element& inputs, const CallContext& context) const;

  const Symbols& inputs() const { return inputs_; }
  const Symbols& outputs() const { return outputs_; }
  const std::vector<std::shared_ptr<LayerCall>>& calls() const { return calls_; }
  // Each layer once, in Keras's order: by distance from the outputs.
  const std::vector<Ref<Layer>>& layers() const { return layers_; }
  // True when the layers form one chain, none of them used twice.
  bool is_chain() const { return is_chain_; }
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;

 private:
  struct Step {
    LayerCall* call;
    std::vector<int> inputs;  // slots of values
    int first_output;
  };
  Tensors in_order(const Element& inputs) const;
  Tensors bind(const Element& inputs) const;
  void order_layers();

  Symbols inputs_, outputs_;
  std::string who_;
  std::vector<std::shared_ptr<LayerCall>> calls_;
  std::vector<Ref<Layer>> layers_;
  std::vector<Step> steps_;
  std::vector<int> input_slots_, output_slots_;
  int slots_ = 0;
  bool is_chain_ = true;
};

}  // namespace cohort
