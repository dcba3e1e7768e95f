#pragma once

#include <string>
#include <vector>

#include "cohort/model/model.h"

namespace cohort {

// Where Keras's files keep one layer's own weights ("layers/dense/vars"), and those weights in the files' order. The
// places follow from the model's structure, not from names that count up within a process.
struct WeightGroup {
  std::string path;
  const Layer* layer;
  Variables variables;
};

// Of a model and every layer below it, each once; layers without weights have a place, too.
std::vector<WeightGroup> weight_groups(const Model& model);

// The path of something else that the group's layer keeps: beside "vars".
std::string below_layer(const WeightGroup& group, const std::string& name);

}  // namespace cohort
