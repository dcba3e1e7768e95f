#pragma once

#include <string>

namespace cohort::distribute {

// What an environment variable says; empty where it is not set.
std::string environment_variable(const char* name);

}  // namespace cohort::distribute
