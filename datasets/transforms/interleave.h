#pragma once

#include "cohort/data/dataset.h"
#include "cohort/data/dataset_function.h"

namespace cohort::datasets {

// Like flat_map, with several of the datasets walked at a time: block_length elements of each in turn. One that has
// ended is replaced in its place by the next.
//   f: what makes a dataset of an element, such as DatasetFunction::registered("text_lines") of a file's name.
DatasetTransform interleave(DatasetFunction f, InterleaveOptions options = {});

}  // namespace cohort::datasets
