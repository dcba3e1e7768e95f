#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::assert_cardinality, to apply: says how many elements there are where the dataset cannot tell. Walking it
// throws when there are more or fewer.
//   expected_cardinality: the number of elements, or kInfiniteCardinality.
DatasetTransform assert_cardinality(std::int64_t expected_cardinality);

}  // namespace cohort::datasets
