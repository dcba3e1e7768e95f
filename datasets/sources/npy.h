#pragma once

#include <string>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// The rows of an array that numpy.save wrote, along axis 0. The file is mapped where its bytes are those of a tensor
// (else read, when first needed) and must stay as it is. Arrays of Python objects are refused.
//   file: its path.
Dataset npy(const std::string& file);

// The rows of arrays of an archive that numpy.savez or savez_compressed wrote, along axis 0; read when first needed.
//   file: its path.
//   names: of the arrays, in the order of the tuple that an element is; of one, elements are its rows
//     alone; of none, they are dicts of all arrays.
Dataset npz(const std::string& file, const std::vector<std::string>& names = {});

}  // namespace cohort::datasets
