#include "cohort/distribute/coordinator/pipeline_datasets.h"

#include <utility>

namespace cohort::distribute {

int PipelineDatasets::add(std::vector<Dataset> pipelines, const std::vector<std::string>& beginnings) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < pipelines.size(); ++i) {
    std::string beginning = i < beginnings.size() ? beginnings[i] : pipelines[i].make_iterator()->save();
    entries.push_back({std::move(pipelines[i]), std::move(beginning)});
  }
  std::lock_guard lock(mutex_);
  datasets_.push_back(std::move(entries));
  return static_cast<int>(datasets_.size()) - 1;
}

PipelineDatasets::Entry PipelineDatasets::find(int dataset, int pipeline) const {
  std::lock_guard lock(mutex_);
  return datasets_.at(static_cast<std::size_t>(dataset)).at(static_cast<std::size_t>(pipeline));
}

}  // namespace cohort::distribute
