#pragma once

#include <string>

namespace cohort::distribute {

// Whoever starts the tasks of a job may name it here for all of them.
inline constexpr const char* kJobNameVariable = "COHORT_JOB_NAME";

// The name of the job: as given, or else as the environment has it; empty where neither says.
std::string job_name_or_environment(const std::string& given);

}  // namespace cohort::distribute
