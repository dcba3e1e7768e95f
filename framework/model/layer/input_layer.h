#pragma once

#include <string>
#include <vector>

#include "cohort/model/layer/layer.h"

namespace cohort {

// Where a functional model's data comes in: passes on what it gets.
// Input and output (batch, ...shape).
//   shape: without the batch.
class InputLayer : public Layer {
 public:
  InputLayer() : InputLayer(Shape()) {}
  explicit InputLayer(const Shape& shape, InputOptions options = {});
  Tensor call(const Tensor& input, const CallContext& context) override;
  void visit_fields(FieldVisitor& visitor) override;
  std::vector<std::string> ignored_fields() const override { return {"sparse", "ragged", "optional"}; }
  void fields_changed() override;
  bool writes_dtype_policy() const override { return false; }

  // With the batch as axis 0.
  const TensorSpec& spec() const { return spec_; }
  // The symbol it stands for, the same each time.
  SymbolicTensor input_symbol();

 private:
  TensorSpec spec_;
  DType dtype_ = DType::Float32;
  Shape batch_shape_;
};

}  // namespace cohort
