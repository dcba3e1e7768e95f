#pragma once

#include "cohort/data/dataset.h"
#include "cohort/data/dataset_function.h"

namespace cohort::datasets {

// The elements of the datasets that a function makes of the elements, one dataset after the other. A function that
// throws, or a dataset that cannot go on, is one error; the next dataset follows. In a later pass the datasets are in
// that pass too: their shuffles and draws are others.
//   f: what makes a dataset of an element, such as DatasetFunction::registered("text_lines") of a file's name.
DatasetTransform flat_map(DatasetFunction f, FlatMapOptions options = {});

}  // namespace cohort::datasets
