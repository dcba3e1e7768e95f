#pragma once

#include <string>
#include <vector>

#include "cohort/data/dataset_creator.h"
#include "cohort/distribute/coordinator/remote_value.h"

namespace cohort::distribute {

class ClusterDataset;

// A dataset's pipelines, and what closures call it by.
class PerWorkerDataset::Body {
 public:
  std::shared_ptr<const ClusterDataset> dataset;
  std::vector<Dataset> pipelines;  // at least one; all of the same element_spec
};

// The iterator of a dataset: which dataset.
class PerWorkerValues::Body {
 public:
  std::shared_ptr<const PerWorkerDataset::Body> dataset;
};

// One pipeline for each name, made here by calling the function with its context. Throws, naming it, when the function
// throws, gives nothing, or elements unlike the first one's.
//   names: of the workers, or of the pipelines where those are not as many.
//   num_replicas_in_sync: devices of a worker; an element is a batch of each of them.
std::vector<Dataset> make_pipelines(const DatasetCreator& creator, const std::vector<std::string>& names,
                                    std::int64_t num_replicas_in_sync = 1);
// For PipelineBook::add.
std::vector<std::int64_t> cardinalities(const std::vector<Dataset>& pipelines);

}  // namespace cohort::distribute
