#pragma once

#include <functional>
#include <utility>

#include "cohort/data/dataset.h"
#include "cohort/data/input_context.h"

namespace cohort {

// Makes a dataset for each input pipeline of a strategy; what fit takes on a cluster.
class DatasetCreator {
 public:
  // Makes the dataset of one pipeline.
  using DatasetFn = std::function<Dataset(const InputContext&)>;

  // From a function that makes the dataset of one pipeline, told which of how many it is.
  explicit DatasetCreator(DatasetFn dataset_fn);
  // The dataset of one pipeline; throws when the function gives none.
  Dataset operator()(const InputContext& context) const;

 private:
  DatasetFn dataset_fn_;
};

}  // namespace cohort
