#include "cohort/distribute/cluster/job_name.h"

#include <cstdlib>

namespace cohort::distribute {

std::string job_name_or_environment(const std::string& given) {
  if (!given.empty()) return given;
  const char* name = std::getenv(kJobNameVariable);
  return name ? name : "";
}

}  // namespace cohort::distribute
