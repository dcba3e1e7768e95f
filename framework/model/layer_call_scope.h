#pragma once

#include "cohort/core/masks.h"
#include "cohort/graph/trace.h"

namespace cohort {

class Layer;

// Held while a layer is called: names what it makes, keeps the masks its sub-layers hand on, and lets the outermost
// call forget the penalties of the one before.
class LayerCallScope {
 public:
  LayerCallScope(Layer& layer, bool training);
  ~LayerCallScope();
  LayerCallScope(const LayerCallScope&) = delete;
  // Whether the innermost layer call of this thread is in training; false outside of any.
  static bool training();

 private:
  NameScope name_;
  MaskScope masks_;
  bool outer_training_;
};

}  // namespace cohort
