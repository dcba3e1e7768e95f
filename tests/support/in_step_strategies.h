#pragma once

#include <string>
#include <vector>

#include "cohort/distribute/strategies/central_storage_strategy.h"
#include "cohort/distribute/strategies/mirrored_strategy.h"

namespace cohort::test {

// Strategies whose replicas train in step in this process.
enum class InStep { Mirrored, CentralStorage };

inline std::string name_of(InStep kind) { return kind == InStep::Mirrored ? "Mirrored" : "CentralStorage"; }

// The names of the first logical CPUs.
inline std::vector<std::string> cpus(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("CPU:" + std::to_string(i));
  return names;
}

// One on so many logical CPUs. What is stored centrally is on a device of its own where there is one replica.
inline distribute::StrategyHandle in_step_on(InStep kind, int replicas) {
  if (kind == InStep::Mirrored) return distribute::MirroredStrategy(cpus(replicas));
  return distribute::CentralStorageStrategy(cpus(replicas), replicas == 1 ? "CPU:9" : "");
}

}  // namespace cohort::test
