#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::distribute {

// The pipelines of all datasets that closures take elements from. Thread-safe.
class PipelineDatasets {
 public:
  struct Entry {
    Dataset dataset;
    // Where an iterator made here begins: a dataset walked before is shuffled in another order than one just made.
    std::string beginning;
  };
  // One dataset for each pipeline; the number by which closures name them. With `beginnings`, pipelines begin where
  // those of another process did.
  int add(std::vector<Dataset> pipelines, const std::vector<std::string>& beginnings = {});
  Entry find(int dataset, int pipeline) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::vector<Entry>> datasets_;
};

}  // namespace cohort::distribute
