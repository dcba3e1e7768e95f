#pragma once

#include <string>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// The rows of datasets of an HDF5 file along axis 0, reached by number and read as they are needed: contiguous ones,
// and chunks packed in any way that the HDF5 library knows (those of gzip are unpacked by several threads). Types are
// those of NumPy, integers that tensors do not have widened, float16 as float32; strings are refused. The file must
// stay as it is.
//   file: its path.
//   names: of the datasets, with their groups ("train/x"), in the order of the tuple that an element is; of one,
//     elements are its rows alone.
Dataset hdf5(const std::string& file, const std::vector<std::string>& names);

}  // namespace cohort::datasets
