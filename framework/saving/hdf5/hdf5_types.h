#pragma once

#include "cohort/core/dtype.h"
#include "cohort/saving/hdf5/hdf5_handle.h"

namespace cohort {

// How values of a type (all but strings) lie in memory, and how they are written to files.
hid_t hdf5_memory_type(DType dtype);
hid_t hdf5_file_type(DType dtype);
// UTF-8 of any length, in memory and in files.
Hdf5Handle hdf5_string_type();

}  // namespace cohort
