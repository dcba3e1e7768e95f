#pragma once

#include <optional>
#include <string>

#include "cohort/core/masks.h"
#include "cohort/core/thread_scope.h"
#include "cohort/graph/trace.h"

namespace cohort {

class Layer;
class Variable;

// Held while a layer is called: names what it makes, keeps the masks its sub-layers hand on, and lets the outermost
// call forget the penalties of the one before.
class LayerCallScope {
 public:
  // said: whether a caller told the layer to train or not; none: as for the call around this one, if training is its.
  LayerCallScope(Layer& layer, bool training, std::optional<bool> said = std::nullopt);
  // Warns once of a built layer with weights that another one calls and nobody tracks.
  void check_tracked();
  // Whether the innermost layer call of this thread is in training; false outside of any.
  static bool training();
  // Whether that was said by a caller: where it was not, a functional model goes by what its calls recorded.
  static bool training_said();
  // The layer that is being called on this thread, nullptr outside of any.
  static Layer* layer();
  // Lists a weight of a layer among those of the layer around it too, as Keras does where an attribute of a wrapper
  // holds one; throws when there is none of that name.
  static Variable share_weight(Layer& outer, const Layer& inner, const std::string& name);

 private:
  NameScope name_;
  MaskScope masks_;
  struct Call {
    Layer* layer = nullptr;
    bool training = false;
    bool training_said = false;
  };
  using Calls = ThreadScope<LayerCallScope, Call>;
  Calls call_;
};

}  // namespace cohort
