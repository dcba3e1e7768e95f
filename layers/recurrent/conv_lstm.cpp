#include "cohort/layers/recurrent/conv_lstm.h"

namespace cohort::layers {

ConvLSTMLayer::ConvLSTMLayer(int rank, std::int64_t filters, Window kernel_size, const ConvLSTMOptions& options)
    : RnnLayer(Ref<RnnCell>(std::make_shared<ConvLSTMCellLayer>(rank, filters, std::move(kernel_size), options)),
               rnn_settings(options)),
      rank_(rank) {
  take_options(options);
  ConvLSTMLayer::fields_changed();
}

void ConvLSTMLayer::visit_fields(FieldVisitor& visitor) {
  RnnLayer::visit_fields(visitor);
  own_cell().visit_shared_fields(visitor);
}

void ConvLSTMLayer::fields_changed() {
  RnnLayer::fields_changed();
  own_cell().set_dtype_policy(dtype_policy());
  own_cell().fields_changed();
  activity_regularizer_ = own_cell().options().activity_regularizer;
}

namespace {

template <int kRank>
std::shared_ptr<Layer> make_default() {
  return std::make_shared<ConvLSTMLayer>(kRank, 1, 1, ConvLSTMOptions());
}
[[maybe_unused]] const bool conv_lstm_registered = [] {
  Layer::registry().add("ConvLSTM1D", make_default<1>);
  Layer::registry().add("ConvLSTM2D", make_default<2>);
  Layer::registry().add("ConvLSTM3D", make_default<3>);
  return true;
}();

}  // namespace
}  // namespace cohort::layers
