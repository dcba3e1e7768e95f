#pragma once

#include <string>

#include "cohort/model/model.h"
#include "cohort/model/position.h"

namespace cohort {

// Writes, as one file that is put in place atomically, all that a run needs to go on: the weights and the optimizer's
// state where Keras keeps them in a .weights.h5 file, the position and, in the middle of an epoch, the metrics; behind
// them a checksum. Call it at a quiet point.
void write_training_state(const Model& model, const Position& position, const std::string& path);

// Puts back what was written and returns the position. The model, its optimizer and metrics must be built. Everything
// is read and checked before the first value changes: a file that is damaged, or of another model, throws DataLoss.
Position read_training_state(Model& model, const std::string& path);

}  // namespace cohort
