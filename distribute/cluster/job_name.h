#pragma once

#include <string>
#include <string_view>

namespace cohort::distribute {

// Whoever starts the tasks of a job may name it here for all of them.
inline constexpr const char* kJobNameVariable = "COHORT_JOB_NAME";

// The name of the job: as given, or else as the environment has it; empty where neither says.
std::string job_name_or_environment(const std::string& given);

// Throws InvalidArgument, from `who`, for a name of more than 200 bytes.
void check_job_name(std::string_view who, const std::string& name);

}  // namespace cohort::distribute
