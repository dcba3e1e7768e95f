#pragma once

#include <memory>
#include <string>

#include "cohort/layers/recurrent/conv_lstm_cell.h"
#include "cohort/layers/recurrent/rnn_layer.h"

namespace cohort::layers {

class ConvLSTMLayer : public RnnLayer {
 public:
  ConvLSTMLayer(int rank, std::int64_t filters, Window kernel_size, const ConvLSTMOptions& options);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  int sequence_rank() const override { return rank_ + 3; }

 private:
  ConvLSTMCellLayer& own_cell() const { return static_cast<ConvLSTMCellLayer&>(*cell()); }
  int rank_;
};

template <int kRank>
class RankedConvLSTMLayer : public ConvLSTMLayer {
 public:
  RankedConvLSTMLayer() : RankedConvLSTMLayer(1, 1, {}) {}
  RankedConvLSTMLayer(std::int64_t filters, Window kernel_size, const ConvLSTMOptions& options)
      : ConvLSTMLayer(kRank, filters, std::move(kernel_size), options) {}
};

// LSTM with convolutions over kRank spatial axes in place of products: the common form of ConvLSTM1D, ConvLSTM2D and
// ConvLSTM3D.
// Input (batch, steps, spatial axes, channels), output (batch, new spatial axes, filters), or with the steps after the
// batch with return_sequences.
//   filters: number of the output's channels.
//   kernel_size: size of the convolution's window: one number for all spatial axes, or one for each.
template <int kRank>
struct ConvLSTM : RnnHandle<RankedConvLSTMLayer<kRank>> {
  ConvLSTM(std::int64_t filters, Window kernel_size, ConvLSTMOptions options = {})
      : RnnHandle<RankedConvLSTMLayer<kRank>>(
            std::make_shared<RankedConvLSTMLayer<kRank>>(filters, std::move(kernel_size), options)) {}
};

// The options of the three are the same.
using ConvLSTM1DOptions = ConvLSTMOptions;
using ConvLSTM2DOptions = ConvLSTMOptions;
using ConvLSTM3DOptions = ConvLSTMOptions;

// LSTM over sequences of signals whose products with the kernels are 1D convolutions.
// Input (batch, steps, length, channels), output (batch, new_length, filters), or (batch, steps, new_length, filters)
// with return_sequences; channels come before the spatial axes with data_format 'channels_first'. With return_state
// followed by the states h and c, from with_states().
//   filters: number of the output's channels.
//   kernel_size: size of the convolution's window.
using ConvLSTM1D = ConvLSTM<1>;

// LSTM over sequences of images whose products with the kernels are 2D convolutions.
// Input (batch, steps, height, width, channels), output (batch, new_height, new_width, filters), or (batch, steps,
// new_height, new_width, filters) with return_sequences; channels come before the spatial axes with data_format
// 'channels_first'. With return_state followed by the states h and c, from with_states().
//   filters: number of the output's channels.
//   kernel_size: size of the convolution's window: one number for all spatial axes, or one for each.
using ConvLSTM2D = ConvLSTM<2>;

// LSTM over sequences of volumes whose products with the kernels are 3D convolutions.
// Input (batch, steps, depth, height, width, channels), output (batch, new_depth, new_height, new_width, filters), or
// (batch, steps, new_depth, new_height, new_width, filters) with return_sequences; channels come before the spatial
// axes with data_format 'channels_first'. With return_state followed by the states h and c, from with_states().
//   filters: number of the output's channels.
//   kernel_size: size of the convolution's window: one number for all spatial axes, or one for each.
using ConvLSTM3D = ConvLSTM<3>;

}  // namespace cohort::layers
