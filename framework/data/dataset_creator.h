#pragma once

#include <functional>
#include <utility>

#include "cohort/data/dataset.h"
#include "cohort/data/distributed_input.h"
#include "cohort/data/input_context.h"

namespace cohort {

// Makes a dataset for each input pipeline of a strategy; what fit takes on a cluster.
class DatasetCreator {
 public:
  // Makes the dataset of one pipeline.
  using DatasetFn = std::function<Dataset(const InputContext&)>;

  // From a function that makes the dataset of one pipeline, told which of how many it is.
  //   input_options: how many pipelines there are, and how their data is divided further.
  explicit DatasetCreator(DatasetFn dataset_fn, DistributedInputOptions input_options = {});
  // The dataset of one pipeline; throws when the function gives none.
  Dataset operator()(const InputContext& context) const;
  // How many pipelines there are, and how their data is divided further.
  const DistributedInputOptions& input_options() const { return input_options_; }

 private:
  DatasetFn dataset_fn_;
  DistributedInputOptions input_options_;
};

}  // namespace cohort
