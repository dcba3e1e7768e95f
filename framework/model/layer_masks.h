#pragma once

#include "cohort/data/element.h"

namespace cohort {

class Layer;

// The masks a layer is called with, a tree like its inputs: those the caller gave, else those the inputs carry. Throws
// when what was given does not fit the inputs.
Element input_masks(const Layer& layer, const Element& inputs, const Element& given);
// Gives each output that has none yet the mask the layer computes for it.
void mask_outputs(Layer& layer, const Element& inputs, const Element& masks, const Element& outputs);

}  // namespace cohort
