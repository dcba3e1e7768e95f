#pragma once

#include <string>
#include <vector>

#include "cohort/layers/recurrent/rnn_layer.h"

namespace cohort::layers {

struct RNNOptions {
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  bool zero_output_for_mask = false;
  Ref<Regularizer> activity_regularizer = {};
  DTypePolicy dtype = {};
  std::string name = {};
};

// Any cell, or a stack of them, over the steps of (batch, steps, ...).
class RNNLayer : public RnnLayer {
 public:
  RNNLayer() : RnnLayer({}, {}) {}
  explicit RNNLayer(Ref<RnnCell> cell, const RNNOptions& options = {});
  std::string class_name() const override { return "RNN"; }
  void visit_fields(FieldVisitor& visitor) override;

 protected:
  int sequence_rank() const override { return 0; }
};

struct RNN : RnnHandle<RNNLayer> {
  explicit RNN(Ref<RnnCell> cell, RNNOptions options = {})
      : RnnHandle<RNNLayer>(std::make_shared<RNNLayer>(std::move(cell), options)) {}
  explicit RNN(std::vector<Ref<RnnCell>> cells, RNNOptions options = {});
};

}  // namespace cohort::layers
