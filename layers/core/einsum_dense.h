#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/model/layer/activation.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct EinsumDenseOptions {
  Ref<cohort::Activation> activation = "linear";
  // Letters of the output's axes that the bias varies along, such as 'd'; empty: no bias.
  std::optional<std::string> bias_axes = std::nullopt;
  Ref<Initializer> kernel_initializer = "glorot_uniform";
  Ref<Initializer> bias_initializer = "zeros";
  Ref<Regularizer> kernel_regularizer = {};
  Ref<Regularizer> bias_regularizer = {};
  Ref<Constraint> kernel_constraint = {};
  Ref<Constraint> bias_constraint = {};
  Ref<Regularizer> activity_regularizer = {};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(EinsumDenseOptions, activation, bias_axes, kernel_initializer, bias_initializer, kernel_regularizer,
              bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint)

class EinsumDenseLayer : public Layer {
 public:
  EinsumDenseLayer() : EinsumDenseLayer("ab,bc->ac", {1}) {}
  explicit EinsumDenseLayer(std::string equation, Shape output_shape, EinsumDenseOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  bool is_plain_product() const;
  Tensor plain_product(const Tensor& input) const;

  std::string equation_;
  Shape output_shape_;
  EinsumDenseOptions options_;
  // The terms of the equation without their ellipsis.
  std::string input_labels_, kernel_labels_, output_labels_;
  bool left_elided_ = false, right_elided_ = false;
  int built_rank_ = 0;
  int summed_ = 0;  // axes the plain product sums over; 0 when the equation is not one
  Variable kernel_, bias_;
};

// A dense layer over any axes: activation(einsum(equation, input, kernel) + bias). The equation says which axes are
// multiplied and summed; the shape of the kernel follows from it.
// Input (batch, ...) with the axes that the equation names, output (batch, ...) whose named axes after the batch are
// output_shape.
//   equation: axes of the input, the kernel and the output as letters: 'abc,cd->abd' maps (batch, steps, features) to
//     (batch, steps, units), '...x,xy->...y' keeps any number of leading axes.
//   output_shape: sizes of the output's axes without the batch and without those an ellipsis stands for; -1 (kUnknown)
//     for an axis that is as large as the input's.
struct EinsumDense : LayerHandle<EinsumDenseLayer> {
  explicit EinsumDense(std::string equation, Shape output_shape, EinsumDenseOptions options = {});
};

}  // namespace cohort::layers
