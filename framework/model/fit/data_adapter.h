#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "cohort/model/fit/data_argument.h"
#include "cohort/model/fit/strategy.h"

namespace cohort {

struct AdapterOptions {
  const char* who = "Model.fit";
  std::optional<std::int64_t> batch_size = std::nullopt;
  bool shuffle = false;
  std::map<std::int64_t, double> class_weight = {};
};

// The batches of a caller's data: tensors are checked, weighted, shuffled and cut; a dataset is taken as it is.
RunnerData adapt_data(const DataArgument& data, const AdapterOptions& options);

// One batch of tensors as an element (x, y, sample_weight), checked.
Element pack_batch(const char* who, const TensorArgument& x, const TensorArgument& y,
                   const TensorArgument& sample_weight, const std::map<std::int64_t, double>& class_weight);

// The last `fraction` of the samples apart from the rest: (training, validation).
std::pair<DataArgument, DataArgument> split_for_validation(const DataArgument& data, double fraction);

// The weight of each sample by its class: y holds class numbers, or one-hot rows.
Tensor class_weights(const Tensor& y, const std::map<std::int64_t, double>& weights);

}  // namespace cohort
