#pragma once

#include "cohort/data/element.h"

namespace cohort {

// The parts of a dataset's element; empty where one is missing.
struct UnpackedData {
  Element x, y, sample_weight;
};
// Takes an element of a dataset apart: x alone, (x,), (x, y) or (x, y, sample_weight).
UnpackedData unpack_x_y_sample_weight(const Element& data);

}  // namespace cohort
