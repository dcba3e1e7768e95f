#include "cohort/saving/clone_model.h"

#include <gtest/gtest.h>

#include "cohort/layers/core/dense.h"
#include "cohort/layers/merging/add.h"
#include "cohort/layers/regularization/dropout.h"
#include "cohort/model/functional.h"
#include "cohort/model/sequential.h"
#include "cohort/model/symbols/symbolic_ops.h"
#include "cohort/saving/model_json.h"

namespace cohort {
namespace {

Ref<Model> shared_layer_model() {
  const SymbolicTensor a = Input({4}, {.name = "a"}), b = Input({4}, {.name = "b"});
  layers::Dense shared(3, {.name = "shared"});
  const SymbolicTensor sum = layers::Add()({shared(a), shared(b)}) * 2.0;
  return make<Model>(Symbols{{"a", a}, {"b", b}}, Symbols{{"out", layers::Dense(2)(sum)}}, ModelOptions{.name = "m"});
}

Element inputs() { return Element::dict({{"a", Tensor::full({2, 4}, 0.5)}, {"b", Tensor::full({2, 4}, -1.0)}}); }

TEST(CloneModel, GivesWeightsOfItsOwn) {
  const Ref<Model> model = shared_layer_model();
  const Ref<Model> clone = clone_model(*model);
  EXPECT_EQ(model_to_json(*clone), model_to_json(*model));
  EXPECT_EQ(clone->weights().size(), 4u);
  EXPECT_FALSE(clone->weights()[0] == model->weights()[0]);
  clone->set_weights(model->get_weights());
  EXPECT_EQ(clone->apply(inputs(), {}).flatten()[0].to_vector<float>(),
            model->apply(inputs(), {}).flatten()[0].to_vector<float>());
}

TEST(CloneModel, IsBuiltOnTensorsGiven) {
  const Ref<Model> model = shared_layer_model();
  const SymbolicTensor x = Input({4});
  const SymbolicTensor doubled = x + x;
  EXPECT_THROW(clone_model(*model, {.input_tensors = doubled}), Error);
  const Ref<Model> clone = clone_model(*model, {.input_tensors = {{"a", x}, {"b", doubled}}});
  clone->set_weights(model->get_weights());
  const Tensor a = Tensor::full({2, 4}, 0.5);
  Model whole(x, clone->functional()->outputs());
  const Element expected = model->apply(Element::dict({{"a", a}, {"b", Tensor::full({2, 4}, 1.0)}}), {});
  EXPECT_EQ(whole.apply(a, {}).flatten()[0].to_vector<float>(), expected.flatten()[0].to_vector<float>());
}

TEST(CloneModel, ChangesLayersOnTheWay) {
  Sequential model({layers::Dense(3, {.activation = "relu"}), layers::Dropout(0.5), layers::Dense(1)});
  model.build({kUnknown, 4});
  const Ref<Model> clone = clone_model(model, {.clone_function = [](const Ref<Layer>& layer) -> Ref<Layer> {
                                         return layer->class_name() == "Dropout" ? Ref<Layer>(layers::Dropout(0.1))
                                                                                 : Ref<Layer>(layers::Dense(5));
                                       }});
  EXPECT_EQ(clone->count_params(), 4 * 5 + 5 + 5 * 5 + 5);
  EXPECT_EQ(clone_model(model)->count_params(), model.count_params());
}

TEST(CloneModel, RefusesAModelInCode) {
  class InCode : public Model {};
  EXPECT_THROW(clone_model(InCode()), Error);
}

}  // namespace
}  // namespace cohort
