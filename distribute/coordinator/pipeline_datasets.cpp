#include "cohort/distribute/coordinator/pipeline_datasets.h"

#include <utility>

#include "cohort/core/error.h"
#include "cohort/graph/graph_proto.h"

namespace cohort::distribute {

struct PipelineDatasets::Entry {
  std::vector<std::string> beginnings;
  std::mutex mutex;  // guards what follows
  std::vector<Dataset> pipelines;
  std::vector<std::shared_ptr<const PipelineDescription>> descriptions;  // empty until one is asked for
};

int PipelineDatasets::add(std::vector<Dataset> pipelines, const std::vector<std::string>& beginnings) {
  auto entry = std::make_shared<Entry>();
  for (std::size_t i = 0; i < pipelines.size(); ++i) {
    entry->beginnings.push_back(i < beginnings.size() ? beginnings[i] : pipelines[i].make_iterator()->save());
  }
  entry->pipelines = std::move(pipelines);
  std::lock_guard lock(mutex_);
  datasets_.emplace(next_, std::move(entry));
  return next_++;
}

void PipelineDatasets::remove(int dataset) noexcept {
  std::shared_ptr<Entry> removed;  // let go of without the lock
  std::lock_guard lock(mutex_);
  const auto found = datasets_.find(dataset);
  if (found == datasets_.end()) return;
  removed = std::move(found->second);
  datasets_.erase(found);
}

std::shared_ptr<PipelineDatasets::Entry> PipelineDatasets::find(int dataset, int pipeline) const {
  std::lock_guard lock(mutex_);
  const auto found = datasets_.find(dataset);
  if (found == datasets_.end() || pipeline < 0 ||
      static_cast<std::size_t>(pipeline) >= found->second->beginnings.size()) {
    throw not_found("ClusterCoordinator", "a pipeline of a dataset that is in use is expected",
                    {{"dataset", dataset}, {"pipeline", pipeline}});
  }
  return found->second;
}

std::string PipelineDatasets::beginning_of(int dataset, int pipeline) const {
  return find(dataset, pipeline)->beginnings[static_cast<std::size_t>(pipeline)];
}

std::shared_ptr<const PipelineDescription> PipelineDatasets::describe(int dataset, int pipeline) const {
  const std::shared_ptr<Entry> entry = find(dataset, pipeline);
  std::lock_guard lock(entry->mutex);
  if (entry->descriptions.empty()) {
    const ConstantHashScope hashes;  // pipelines share tensors
    std::vector<std::shared_ptr<const PipelineDescription>> made;
    for (std::size_t i = 0; i < entry->pipelines.size(); ++i) {
      PipelineDescription description{.chain = {}, .constants = {}, .beginning = entry->beginnings[i]};
      description.chain = serialize(entry->pipelines[i], description.constants);
      made.push_back(std::make_shared<const PipelineDescription>(std::move(description)));
    }
    entry->descriptions = std::move(made);
  }
  return entry->descriptions[static_cast<std::size_t>(pipeline)];
}

}  // namespace cohort::distribute
