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

COHORT_REGISTER(Layer, RankedConvLSTMLayer<1>, "ConvLSTM1D");
COHORT_REGISTER(Layer, RankedConvLSTMLayer<2>, "ConvLSTM2D");
COHORT_REGISTER(Layer, RankedConvLSTMLayer<3>, "ConvLSTM3D");

}  // namespace cohort::layers
