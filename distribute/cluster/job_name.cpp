#include "cohort/distribute/cluster/job_name.h"

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/environment.h"

namespace cohort::distribute {

std::string job_name_or_environment(const std::string& given) {
  return given.empty() ? environment_variable(kJobNameVariable) : given;
}

void check_job_name(std::string_view who, const std::string& name) {
  constexpr std::size_t kLongest = 200;
  if (name.size() <= kLongest) return;
  throw invalid_argument(who, "a job's name of at most 200 bytes is expected", {{"bytes", name.size()}});
}

}  // namespace cohort::distribute
