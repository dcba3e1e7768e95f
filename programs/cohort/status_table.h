#pragma once

#include <string>
#include <vector>

#include "cohort/distribute/coordinator/task_status.h"

namespace cohort::programs {

// A line for each task, and below the table one for each that did not answer.
std::string status_table(const std::vector<distribute::TaskStatus>& tasks);

}  // namespace cohort::programs
