#pragma once

#include <string>

#include "cohort/core/masks.h"
#include "cohort/graph/trace.h"

namespace cohort {

class Layer;
class Variable;

// Held while a layer is called: names what it makes, keeps the masks its sub-layers hand on, and lets the outermost
// call forget the penalties of the one before.
class LayerCallScope {
 public:
  LayerCallScope(Layer& layer, bool training);
  // Whether the innermost layer call of this thread is in training; false outside of any.
  static bool training();
  // Lists a weight of a layer among those of the layer around it too, as Keras does where an attribute of a wrapper
  // holds one; throws when there is none of that name.
  static Variable share_weight(Layer& outer, const Layer& inner, const std::string& name);

 private:
  NameScope name_;
  MaskScope masks_;
  using Training = ThreadScope<LayerCallScope, bool>;
  Training training_;
};

}  // namespace cohort
