#pragma once

#include <memory>
#include <string>

#include "cohort/layers/recurrent/builtin_rnn_cell.h"
#include "cohort/layers/recurrent/rnn_layer.h"

namespace cohort::layers {

// What SimpleRNN, LSTM and GRU have in common: a cell of their own, whose options stand in the layer's config.
class BuiltinRnn : public RnnLayer {
 public:
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  // Whether the whole sequence may be computed by one op; not part of the config, as in Keras.
  const std::optional<bool>& use_cudnn() const { return use_cudnn_; }
  void set_use_cudnn(std::optional<bool> use) { use_cudnn_ = use; }

 protected:
  template <class Options>
  BuiltinRnn(std::shared_ptr<BuiltinRnnCell> cell, const Options& options)
      : RnnLayer(Ref<RnnCell>(std::shared_ptr<RnnCell>(cell)), rnn_settings(options)),
        builtin_cell_(std::move(cell)),
        given_activity_regularizer_(options.activity_regularizer) {
    if constexpr (requires { options.use_cudnn; }) use_cudnn_ = options.use_cudnn;
    take_options(options);
    BuiltinRnn::fields_changed();
  }
  // SimpleRNN's config has no seed.
  virtual bool writes_seed() const { return true; }
  // By one op where the options allow it: the plain activations, no dropout of states, not unrolled, a type it takes.
  std::optional<Rolled> run_fused(const Tensor& sequences, const Tensors& initial, const Tensor& mask,
                                  const CallContext& context) final;
  // Whether the cell is what the op computes.
  virtual bool suits_op() const = 0;
  // The states after each step (batch, steps, units), in the places of the inputs, then the last states. `inputs` are
  // the sequences with dropout.
  virtual Tensors run_op_over(const Tensor& inputs, const Tensors& initial, const Tensor& mask) const = 0;
  // x @ kernel + bias for all steps: one product.
  Tensor projected(const Tensor& inputs, const Tensor& bias) const;

 private:
  std::shared_ptr<BuiltinRnnCell> builtin_cell_;
  Ref<Regularizer> given_activity_regularizer_;
  std::optional<bool> use_cudnn_;
};

}  // namespace cohort::layers
