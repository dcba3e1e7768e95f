#pragma once

#include <string>
#include <vector>

#include "cohort/model/model.h"

namespace cohort {

// Where Keras's files keep one layer's own weights ("layers/dense/vars"), and those weights in the files' order. The
// places follow from the model's structure, not from names that count up within a process.
template <class LayerType>
struct WeightGroupOf {
  std::string path;
  LayerType* layer;
  Variables variables;
};
using WeightGroup = WeightGroupOf<Layer>;
using ConstWeightGroup = WeightGroupOf<const Layer>;

// Of a model and every layer below it, each once; layers without weights have a place, too.
std::vector<WeightGroup> weight_groups(Model& model);
std::vector<ConstWeightGroup> weight_groups(const Model& model);

// The path of something else that a group's layer keeps: beside "vars", where the group's path ends.
std::string below_layer(const std::string& group_path, const std::string& name);

}  // namespace cohort
