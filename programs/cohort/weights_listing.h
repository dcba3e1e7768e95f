#pragma once

#include <string>

#include "cohort/saving/hdf5/hdf5_file.h"

namespace cohort::programs {

// A line for each tensor of a file, with its path, shape and type, and one with their sum; numbered members by number.
std::string weights_listing(const Hdf5File& file);

}  // namespace cohort::programs
