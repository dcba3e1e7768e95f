#include "cohort/distribute/cluster/job_name.h"

#include "cohort/distribute/cluster/environment.h"

namespace cohort::distribute {

std::string job_name_or_environment(const std::string& given) {
  return given.empty() ? environment_variable(kJobNameVariable) : given;
}

}  // namespace cohort::distribute
