#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// The rows of tensors along axis 0, shared without a copy: a tensor, or a tuple or dict of tensors of equal length.
Dataset from_tensor_slices(const Element& tensors);
// Pairs (x, y) of rows, and with a weight for each sample triples (x, y, sample_weight).
Dataset from_tensor_slices(const Element& x, const Element& y);
Dataset from_tensor_slices(const Element& x, const Element& y, const Element& sample_weight);

}  // namespace cohort::datasets
