#pragma once

#include "cohort/data/element.h"

namespace cohort {

class Layer;

// The masks a layer is called with, a tree like its inputs: those the caller gave, else those the inputs carry. Throws
// when what was given does not fit the inputs.
Element input_masks(const Layer& layer, const Element& inputs, const Element& given);
// What a call sees of carried masks: beside other tensor arguments an argument's own counts only where the layer takes
// `<argument>_mask`. So, as in Keras, attention sees them and a recurrent layer with given initial states does not; its
// outputs still carry them on.
Element call_masks(const Layer& layer, const Element& inputs, const Element& carried);
// Gives each output that has none yet the mask the layer computes for it.
void mask_outputs(Layer& layer, const Element& inputs, const Element& masks, const Element& outputs);

}  // namespace cohort
