#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// A feature of Examples, as FixedLenFeature and FixedLenSequenceFeature make it.
struct ExampleFeature {
  // Of its values in one Example, or in one place of a sequence.
  Shape shape;
  // float32, int64 or string.
  DType dtype = DType::Float32;
  // For Examples that do not have it, or for padding.
  std::optional<Tensor> default_value = std::nullopt;
  // Whether it has any number of values.
  bool sequence = false;
};
// Features by name.
using ExampleFeatures = std::vector<std::pair<std::string, ExampleFeature>>;

// A feature with the same number of values in every Example.
//   shape: of the values; {} for one.
//   dtype: float32, int64 or string.
//   default_value: for Examples that do not have it, of this shape or one value for all of it; none:
//     that is an error.
ExampleFeature FixedLenFeature(const Shape& shape, DType dtype, std::optional<Tensor> default_value = std::nullopt);
// A feature with any number of values in each Example: along one axis more, in a batch padded to the longest; an
// Example that does not have it has none.
//   shape: of the values of one place of that axis; {} for one.
//   dtype: float32, int64 or string.
//   default_value: one value for the padding; none: 0 or "".
ExampleFeature FixedLenSequenceFeature(const Shape& shape, DType dtype,
                                       std::optional<Tensor> default_value = std::nullopt);

// Serialised tf.train.Examples, as scalar strings or batches of them, become dicts of tensors. Fastest behind batch:
// then each value is written to its place in the batch at once.
//   features: what is taken out of them, in this order; others are passed by.
DatasetTransform parse_example(ExampleFeatures features);

}  // namespace cohort::datasets
