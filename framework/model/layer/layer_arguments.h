#pragma once

#include "cohort/model/layer/layer.h"

namespace cohort {

// Brings the inputs of a layer that names its arguments into the form it expects: names checked and in the layer's
// order, "mask" moved to the context, a lone first argument bare. Leaves other layers' inputs alone.
void settle_arguments(const Layer& layer, Element& inputs, CallContext& context);

// True when a dict of these keys names a layer's arguments. A model takes dicts as its one input too: only "inputs"
// with "mask" are arguments of it.
bool names_arguments(const Layer& layer, const std::vector<std::string>& keys);
template <class T>
bool is_called_by_name(const Layer& layer, const Tree<T>& inputs) {
  if (inputs.kind() != Tree<T>::Kind::Dict) return false;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < inputs.size(); ++i) keys.push_back(inputs.key(i));
  return names_arguments(layer, keys);
}

}  // namespace cohort
