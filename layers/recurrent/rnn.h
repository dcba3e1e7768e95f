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
  // Whether masked steps give zeros; otherwise they repeat the output of the step before.
  bool zero_output_for_mask = false;
  Ref<Regularizer> activity_regularizer = {};
  DTypePolicy dtype = {};
  std::string name = {};
};

class RNNLayer : public RnnLayer {
 public:
  RNNLayer() : RnnLayer({}, {}) {}
  explicit RNNLayer(Ref<RnnCell> cell, const RNNOptions& options = {});
  void visit_fields(FieldVisitor& visitor) override;

 protected:
  int sequence_rank() const override { return 0; }
};

// Runs a cell, or a stack of cells, over the steps of sequences.
// Input (batch, steps, ...), output (batch, ...) as the cell gives it, or (batch, steps, ...) with return_sequences;
// with return_state followed by the cell's states, from with_states().
//   cell: the cell that computes a step: LSTMCell, GRUCell, SimpleRNNCell, StackedRNNCells or one derived from RnnCell.
//   cells: several cells, lowest first, run as StackedRNNCells.
struct RNN : RnnHandle<RNNLayer> {
  explicit RNN(Ref<RnnCell> cell, RNNOptions options = {});
  explicit RNN(std::vector<Ref<RnnCell>> cells, RNNOptions options = {});
};

}  // namespace cohort::layers
