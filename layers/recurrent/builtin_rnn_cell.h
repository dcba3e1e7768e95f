#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/recurrent/dropout_factors.h"
#include "cohort/layers/recurrent/rnn_cell.h"
#include "cohort/model/layer/activation.h"

namespace cohort::layers {

// What the cells of SimpleRNN, LSTM and GRU have in common, as their own options name it.
struct BuiltinRnnCellOptions {
  Ref<cohort::Activation> activation;
  Ref<cohort::Activation> recurrent_activation;
  bool use_bias = true;
  Ref<Initializer> kernel_initializer;
  Ref<Initializer> recurrent_initializer;
  Ref<Initializer> bias_initializer;
  Ref<Regularizer> kernel_regularizer;
  Ref<Regularizer> recurrent_regularizer;
  Ref<Regularizer> bias_regularizer;
  Ref<Constraint> kernel_constraint;
  Ref<Constraint> recurrent_constraint;
  Ref<Constraint> bias_constraint;
  double dropout = 0.0;
  double recurrent_dropout = 0.0;
  std::optional<std::int64_t> seed;
  DTypePolicy dtype;
  std::string name;
};
COHORT_FIELDS(BuiltinRnnCellOptions, use_bias, kernel_initializer, recurrent_initializer, bias_initializer,
              kernel_regularizer, recurrent_regularizer, bias_regularizer, kernel_constraint, recurrent_constraint,
              bias_constraint, dropout, recurrent_dropout)

// The same from a cell's or a layer's options; a layer's name is not its cell's.
template <class Options>
BuiltinRnnCellOptions builtin_rnn_cell_options(const Options& options, std::string name) {
  BuiltinRnnCellOptions shared{.activation = options.activation,
                               .recurrent_activation = {},
                               .use_bias = options.use_bias,
                               .kernel_initializer = options.kernel_initializer,
                               .recurrent_initializer = options.recurrent_initializer,
                               .bias_initializer = options.bias_initializer,
                               .kernel_regularizer = options.kernel_regularizer,
                               .recurrent_regularizer = options.recurrent_regularizer,
                               .bias_regularizer = options.bias_regularizer,
                               .kernel_constraint = options.kernel_constraint,
                               .recurrent_constraint = options.recurrent_constraint,
                               .bias_constraint = options.bias_constraint,
                               .dropout = options.dropout,
                               .recurrent_dropout = options.recurrent_dropout,
                               .seed = options.seed,
                               .dtype = options.dtype,
                               .name = std::move(name)};
  if constexpr (requires { options.recurrent_activation; }) shared.recurrent_activation = options.recurrent_activation;
  return shared;
}

// A cell with states of `units` numbers and `gates` blocks of weights: kernel (features, gates * units),
// recurrent_kernel (units, gates * units) and bias.
class BuiltinRnnCell : public RnnCell {
 public:
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  // The fields a layer over this cell has in its own config.
  virtual void visit_shared_fields(FieldVisitor& visitor);
  // The seed in a config; not every layer over the cell has one.
  void visit_seed(FieldVisitor& visitor) { visitor.field("seed", options_.seed); }

  // Number of units, options, and the weights once the cell is built.
  std::int64_t units() const { return units_; }
  const BuiltinRnnCellOptions& options() const { return options_; }
  const Variable& kernel() const { return kernel_; }
  const Variable& recurrent_kernel() const { return recurrent_kernel_; }
  const Variable& bias() const { return bias_; }
  // Draws dropout for inputs like `input` (batch, features).
  CellDropout draw_dropout(const Tensor& input, bool training);

 protected:
  BuiltinRnnCell(std::int64_t units, int gates, BuiltinRnnCellOptions options);
  // SimpleRNN's config has no recurrent_activation.
  virtual bool has_recurrent_activation() const { return true; }
  virtual Shape bias_shape() const { return {gates_ * units_}; }
  virtual Ref<Initializer> bias_initializer() const { return options_.bias_initializer; }
  // How many factors a draw has: one for all gates, or one for each.
  virtual int dropout_count() const { return options_.recurrent_dropout != 0.0 ? gates_ : 1; }
  // Whether a rate drops anything: rates of 1 drop nothing in gated cells, as in Keras.
  virtual bool drops(double rate) const { return rate > 0.0 && rate < 1.0; }

 private:
  std::int64_t units_;
  int gates_;
  BuiltinRnnCellOptions options_;
  Variable kernel_, recurrent_kernel_, bias_;
  DropoutFactors factors_;
};

}  // namespace cohort::layers
