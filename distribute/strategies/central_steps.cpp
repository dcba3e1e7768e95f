#include "cohort/distribute/strategies/central_steps.h"

#include <numeric>

#include "cohort/graph/split_update.h"
#include "cohort/variables/variable_body.h"

namespace cohort::distribute {
namespace {

CentralPart made_ready(GraphPart part) {
  return {std::make_unique<ExecutableCache>(std::make_shared<Graph>(std::move(part.graph))), std::move(part.inputs)};
}

std::unique_ptr<CentralStep> cut(const TracedGraph& step) {
  std::vector<int> updated, collectives;
  for (std::size_t i = 0; i < step.captures.size(); ++i) {
    const Resource* resource = step.captures[i].resource().get();
    const int input = step.num_arguments + static_cast<int>(i);
    const auto* variable = dynamic_cast<const LocalVariable*>(resource);
    if (variable && variable->options().synchronization != Synchronization::OnRead) updated.push_back(input);
    if (resource && std::string_view(resource->kind()) == "Collective") collectives.push_back(input);
  }
  auto made = std::make_unique<CentralStep>();
  made->whole = step.graph;
  if (std::optional<SplitStep> split = split_update(*step.graph, updated, collectives)) {
    made->compute = made_ready(std::move(split->compute));
    made->update = made_ready(std::move(split->update));
    made->is_split = true;
    return made;
  }
  // The keeper then computes along with a sample, and what it brings is not counted.
  std::vector<int> all(step.graph->inputs.size());
  std::iota(all.begin(), all.end(), 0);
  made->compute = made_ready({*step.graph, all});
  made->update = made_ready({*step.graph, all});
  return made;
}

}  // namespace

const CentralStep& CentralSteps::of(const TracedGraph& step) {
  std::erase_if(steps_, [](const auto& known) { return known.second->whole.expired(); });
  std::unique_ptr<CentralStep>& known = steps_[step.graph.get()];
  if (!known) known = cut(step);
  return *known;
}

}  // namespace cohort::distribute
