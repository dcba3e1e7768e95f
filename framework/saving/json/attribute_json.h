#pragma once

#include <string>
#include <vector>

#include "cohort/saving/json/object_json.h"

namespace cohort {

// The key of x[key]: in attributes a list of texts ("slice(0, None, 2)", "None" for a new axis, "..." and numbers), in
// files Keras's objects.
bool is_index(const std::vector<std::string>& texts);
bool is_index_json(const Json& value);
Json index_to_json(const std::vector<std::string>& texts);
std::vector<std::string> index_from_json(const Json& value);

}  // namespace cohort
