#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cohort {

// Figures of how a run is doing, each by a name for logs: what it is, and where if there are several places
// ("step_seconds/worker_0").
using RunFigures = std::vector<std::pair<std::string, double>>;

}  // namespace cohort
