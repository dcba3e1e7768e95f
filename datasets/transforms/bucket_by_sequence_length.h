#pragma once

#include <vector>

#include "cohort/data/dataset.h"
#include "cohort/data/element_function.h"

namespace cohort::datasets {

// Dataset::bucket_by_sequence_length, to apply: padded batches of elements of similar length, each given when it is
// full. Those that are not full when the dataset ends come last, the shortest sequences first.
//   length: of the element or of its tensors; gives one integer. Traced, as map's function is.
//   boundaries: ascending; bucket i takes sequences shorter than boundary i and no shorter than the one before, a last
//     one takes the rest.
//   batch_sizes: elements of a batch of each bucket, one more than there are boundaries.
DatasetTransform bucket_by_sequence_length(ElementFunction length, std::vector<std::int64_t> boundaries,
                                           std::vector<std::int64_t> batch_sizes, BucketOptions options = {});

}  // namespace cohort::datasets
