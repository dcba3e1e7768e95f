#pragma once

#include "cohort/core/tensor.h"

namespace cohort {

class Layer;

// Warns of a layer with weights that is called inside another one while nobody tracks it.
void warn_of_untracked_layer(const Layer& layer, const Layer& around);

// Warns, once for each, of the metrics and trainable variables among what a model's step captured that the model does
// not track. Weights of layers that were warned of are left out.
void warn_of_untracked_variables(const Layer& model, const Tensors& captures);

}  // namespace cohort
