#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "cohort/graph/executable.h"
#include "cohort/graph/trace.h"

namespace cohort::distribute {

// What one side runs of a step.
struct CentralPart {
  std::unique_ptr<ExecutableCache> executables;
  // Which inputs of the whole step its own are.
  std::vector<int> inputs;
};

// A step as replicas run it, and as the keeper of their variables does.
struct CentralStep {
  std::weak_ptr<const Graph> whole;
  // Replicas leave all of the update to the keeper; else it does the whole step as they do.
  bool is_split = false;
  CentralPart compute, update;
};

// Steps that were cut for a keeper of variables, each once. For one thread.
class CentralSteps {
 public:
  // The step in two; valid as long as its graph lives.
  const CentralStep& of(const TracedGraph& step);

 private:
  std::unordered_map<const Graph*, std::unique_ptr<CentralStep>> steps_;
};

}  // namespace cohort::distribute
