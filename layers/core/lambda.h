#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "cohort/layers/basic_options.h"
#include "cohort/model/layer/layer.h"
#include "cohort/model/layer/tensor_function.h"

namespace cohort::layers {

class LambdaLayer : public Layer {
 public:
  LambdaLayer() = default;
  explicit LambdaLayer(Ref<TensorFunction> function, NameOption options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void build_many(const std::vector<Shape>&) override {}
  Element call_element(const Element& inputs, const CallContext& context) override;

 private:
  Ref<TensorFunction> function_;
};

// Wraps a function of tensors as a layer. A registered function is saved by its name; any other cannot be saved.
// Input any shape, output whatever shape the function returns.
//   registered_name: name of a function registered with COHORT_REGISTER_FUNCTION, 'package>name'.
//   function: a callable that takes a Tensor and returns one, or a Ref<TensorFunction>, which gets all inputs.
struct Lambda : LayerHandle<LambdaLayer> {
  // Lambda("mine>swish"), of a function registered by COHORT_REGISTER_FUNCTION.
  explicit Lambda(const char* registered_name, NameOption options = {})
      : Lambda(Ref<TensorFunction>(registered_name), std::move(options)) {}
  // Lambda([](const ch::Tensor& x) { return x * 2.0; }): cannot be saved.
  template <class F>
  requires(std::is_invocable_r_v<Tensor, F, const Tensor&>) explicit Lambda(F function, NameOption options = {})
      : Lambda(Ref<TensorFunction>(std::make_shared<TensorFunction>(
                   "", [function](const Tensors& inputs) { return Tensor(function(inputs.at(0))); })),
               std::move(options)) {}
  explicit Lambda(Ref<TensorFunction> function, NameOption options);
};

}  // namespace cohort::layers
