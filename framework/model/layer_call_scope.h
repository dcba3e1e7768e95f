#pragma once

#include "cohort/core/masks.h"
#include "cohort/graph/trace.h"

namespace cohort {

class Layer;

// Held while a layer is called: names what it makes, keeps the masks its sub-layers hand on, and lets the outermost
// call forget the penalties of the one before.
class LayerCallScope {
 public:
  explicit LayerCallScope(Layer& layer);
  ~LayerCallScope();
  LayerCallScope(const LayerCallScope&) = delete;

 private:
  NameScope name_;
  MaskScope masks_;
};

}  // namespace cohort
