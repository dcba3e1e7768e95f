#pragma once

// Ops and operators on symbols: each becomes a layer of the functional model, saved as Keras saves it. Behaviour is
// that of the op of the same name on tensors.

#include "cohort/model/symbols/operation.h"
#include "cohort/model/symbols/symbolic_arrays.h"
#include "cohort/model/symbols/symbolic_functions.h"
#include "cohort/model/symbols/symbolic_linalg.h"
#include "cohort/model/symbols/symbolic_nn.h"
#include "cohort/model/symbols/symbolic_reductions.h"
#include "cohort/model/symbols/symbolic_tensor.h"
