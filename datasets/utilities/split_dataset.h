#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "cohort/data/dataset.h"

namespace cohort::utils {

// How much of a dataset one side of a split gets.
struct SplitSize {
  // What the other side leaves.
  SplitSize() = default;
  // So many elements.
  SplitSize(int elements) : value(std::int64_t{elements}) {}
  SplitSize(std::int64_t elements) : value(elements) {}
  // So large a part, between 0 and 1.
  SplitSize(double part) : value(part) {}
  // Neither, elements or a part.
  std::variant<std::monostate, std::int64_t, double> value = {};
};

// What split_dataset takes besides dataset and sizes.
struct SplitDatasetOptions {
  // Mix the elements before.
  bool shuffle = false;
  // Seed of that; the same one gives Keras's split. None: a random one.
  std::optional<std::int64_t> seed = std::nullopt;
};

// The first elements and the last ones, as two datasets in memory: the dataset is walked once, so that no element can
// be on both sides however it is shuffled. Of a dataset that ends with batch it is the elements of batches that are
// split, and both sides have batches of that size.
//   dataset: not endless; elements of one shape.
//   left_size: how much the first one gets; one of the two sizes may be left out.
//   right_size: how much the second one gets.
std::pair<Dataset, Dataset> split_dataset(const Dataset& dataset, SplitSize left_size, SplitSize right_size = {},
                                          SplitDatasetOptions options = {});
// The same for the rows of a tensor, or of a tuple or dict of tensors of equal length.
std::pair<Dataset, Dataset> split_dataset(const Element& tensors, SplitSize left_size, SplitSize right_size = {},
                                          SplitDatasetOptions options = {});

}  // namespace cohort::utils
