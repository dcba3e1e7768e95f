#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace cohort::summary {

// How often the event files of a folder have a value of each tag at each step. For a writer that goes on in another
// process and writes nothing twice; not installed.
std::map<std::pair<std::string, std::int64_t>, int> logged_scalars(const std::string& log_dir);

}  // namespace cohort::summary
