#pragma once

#include <string>

#include "cohort/model/model.h"
#include "cohort/saving/hdf5_file.h"

namespace cohort {

// Writes all weights, and the optimizer's state when there is any, where Keras 3 keeps them in a .weights.h5 file.
void write_weights(const Model& model, Hdf5File& file);
// Reads them back. Everything is read and checked before the first weight changes; what the file has too much is left.
void read_weights(Model& model, const Hdf5File& file);

}  // namespace cohort
