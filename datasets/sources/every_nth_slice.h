#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Attributes of tensor slices that are a part of others: the number of the first row in the whole, and the distance of
// two rows there.
inline constexpr const char* kFirstNumber = "first_number";
inline constexpr const char* kNumberStep = "number_step";

// Whether from_tensor_slices made it.
bool is_tensor_slices(const Dataset& dataset);
// Every n-th row of such a dataset, from number `first` on, in memory of its own.
Dataset every_nth_slice(const Dataset& slices, std::int64_t n, std::int64_t first);

}  // namespace cohort::datasets
