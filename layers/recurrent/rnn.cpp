#include "cohort/layers/recurrent/rnn.h"

#include "cohort/layers/recurrent/stacked_rnn_cells.h"

namespace cohort::layers {

RNNLayer::RNNLayer(Ref<RnnCell> cell, const RNNOptions& options) : RnnLayer(std::move(cell), rnn_settings(options)) {
  take_options(options);
  activity_regularizer_ = options.activity_regularizer;
  RNNLayer::fields_changed();
}

void RNNLayer::visit_fields(FieldVisitor& visitor) {
  RnnLayer::visit_fields(visitor);
  Ref<RnnCell> cell = this->cell();
  visitor.field("cell", cell);
  if (visitor.reads_config() && cell) set_cell(std::move(cell));
}

RNN::RNN(std::vector<Ref<RnnCell>> cells, RNNOptions options) : RNN(StackedRNNCells(std::move(cells)), options) {}

COHORT_REGISTER(Layer, RNNLayer, "RNN");

RNN::RNN(Ref<RnnCell> cell, RNNOptions options)
    : RnnHandle<RNNLayer>(std::make_shared<RNNLayer>(std::move(cell), options)) {}

}  // namespace cohort::layers
