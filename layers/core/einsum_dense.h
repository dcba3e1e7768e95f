#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/model/layer/activation.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct EinsumDenseOptions {
  Ref<cohort::Activation> activation = "linear";
  std::optional<std::string> bias_axes = std::nullopt;  // letters of the output that the bias varies along
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

// activation(einsum(equation, input, kernel) + bias). The equation says which axes are multiplied and summed:
// "abc,cd->abd" maps (batch, steps, features) to (batch, steps, units), "...x,xy->...y" any number of leading axes.
class EinsumDenseLayer : public Layer {
 public:
  EinsumDenseLayer() : EinsumDenseLayer("ab,bc->ac", {1}) {}
  // output_shape has no batch and no axes that an ellipsis stands for; kUnknown: as the input's.
  explicit EinsumDenseLayer(std::string equation, Shape output_shape, EinsumDenseOptions options = {});
  std::string class_name() const override { return "EinsumDense"; }
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

struct EinsumDense : LayerHandle<EinsumDenseLayer> {
  explicit EinsumDense(std::string equation, Shape output_shape, EinsumDenseOptions options = {})
      : LayerHandle<EinsumDenseLayer>(
            std::make_shared<EinsumDenseLayer>(std::move(equation), output_shape, std::move(options))) {}
};

}  // namespace cohort::layers
