#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::distribute {

// A pipeline as workers are told of it.
struct PipelineDescription {
  std::string chain;
  ConstantTable constants;
  // Where an iterator made here begins: a dataset walked before is shuffled in another order than one just made.
  std::string beginning;
};

// The pipelines of all datasets that closures take elements from. Thread-safe.
class PipelineDatasets {
 public:
  // One dataset for each pipeline; the number by which closures name them, which no other will have. With `beginnings`,
  // pipelines begin where those of another process did.
  int add(std::vector<Dataset> pipelines, const std::vector<std::string>& beginnings = {});
  void remove(int dataset) noexcept;
  std::string beginning_of(int dataset, int pipeline) const;
  // Written once, when it is first asked for; throws NotFound for a dataset that is gone.
  std::shared_ptr<const PipelineDescription> describe(int dataset, int pipeline) const;

 private:
  struct Entry;
  std::shared_ptr<Entry> find(int dataset, int pipeline) const;

  mutable std::mutex mutex_;
  std::map<int, std::shared_ptr<Entry>> datasets_;
  int next_ = 0;
};

}  // namespace cohort::distribute
