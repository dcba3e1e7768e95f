#pragma once

#include "cohort/model/layer.h"

namespace cohort {

// Brings the inputs of a layer that names its arguments into the form it expects: names checked and in the layer's
// order, "mask" moved to the context, a lone first argument bare. Leaves other layers' inputs alone.
void settle_arguments(const Layer& layer, Element& inputs, CallContext& context);

}  // namespace cohort
