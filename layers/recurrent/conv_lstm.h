#pragma once

#include <memory>
#include <string>

#include "cohort/layers/recurrent/conv_lstm_cell.h"
#include "cohort/layers/recurrent/rnn_layer.h"

namespace cohort::layers {

// LSTM with convolutions in place of products: (batch, steps, spatial axes, channels) to (batch, new spatial axes,
// filters), or with the steps when return_sequences.
class ConvLSTMLayer : public RnnLayer {
 public:
  ConvLSTMLayer(int rank, std::int64_t filters, Window kernel_size, const ConvLSTMOptions& options);
  std::string class_name() const override { return "ConvLSTM" + std::to_string(rank_) + "D"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 protected:
  int sequence_rank() const override { return rank_ + 3; }

 private:
  ConvLSTMCellLayer& own_cell() const { return static_cast<ConvLSTMCellLayer&>(*cell()); }
  int rank_;
};

template <int kRank>
struct ConvLSTM : RnnHandle<ConvLSTMLayer> {
  ConvLSTM(std::int64_t filters, Window kernel_size, ConvLSTMOptions options = {})
      : RnnHandle<ConvLSTMLayer>(
            std::make_shared<ConvLSTMLayer>(kRank, filters, std::move(kernel_size), std::move(options))) {}
};
using ConvLSTM1DOptions = ConvLSTMOptions;
using ConvLSTM2DOptions = ConvLSTMOptions;
using ConvLSTM3DOptions = ConvLSTMOptions;
using ConvLSTM1D = ConvLSTM<1>;
using ConvLSTM2D = ConvLSTM<2>;
using ConvLSTM3D = ConvLSTM<3>;

}  // namespace cohort::layers
