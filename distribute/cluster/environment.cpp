#include "cohort/distribute/cluster/environment.h"

#include <cstdlib>

namespace cohort::distribute {

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace cohort::distribute
