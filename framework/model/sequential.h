#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <vector>

#include "cohort/model/model.h"

namespace cohort {

// A stack of layers, each fed by the one before it.
class Sequential : public Model {
 public:
  // An empty stack, to be filled by add().
  explicit Sequential(ModelOptions options = {});
  // A stack of these layers, from the input's side to the output's.
  Sequential(std::initializer_list<Ref<Layer>> layers, ModelOptions options = {});
  explicit Sequential(const std::vector<Ref<Layer>>& layers, ModelOptions options = {});

  // Puts a layer on top of the stack.
  void add(Ref<Layer> layer);
  // Takes the top layer away; after it the model must be compiled again.
  void pop();

  std::string class_name() const override;
  std::string module_name() const override;
  Element call_element(const Element& inputs, const CallContext& context) override;
  // Makes all weights for inputs of this shape, batch included.
  void build(const Shape& input) override;
  void build_many(const std::vector<Shape>& inputs) override;
  std::vector<Ref<Layer>> layers() const override;
  std::vector<std::string> output_names() const override;
  // What stands at the stack's foot when it was given an Input.
  const Ref<Layer>& input_layer() const { return input_layer_; }
  // The symbols of a stack that knows its input's shape, layer for layer.
  Symbols inputs() const override;
  Symbols outputs() const override;
  // The shape of its input, batch unknown: its Input's, else what it was built for; no axes before that.
  const Shape& input_shape() const { return input_shape_; }

 private:
  void add_without_building(Ref<Layer> layer);
  void build_from_input();
  void build_for(const TensorSpec& input);
  void ensure_symbols() const;
  bool casts_inputs() const override { return false; }

  std::vector<Ref<Layer>> layers_;
  Ref<Layer> input_layer_;
  Shape input_shape_;
  mutable std::vector<Symbols> symbols_;  // the input's, then each layer's
};

// A shared Sequential, to be used as a layer: ch::make<ch::Sequential>({...}).
template <std::same_as<Sequential> T>
auto make(std::initializer_list<Ref<Layer>> layers, ModelOptions options = {}) {
  return Layer::Handle<Sequential>(std::make_shared<Sequential>(layers, std::move(options)));
}

}  // namespace cohort
