#pragma once

#include <string>

#include "cohort/model/layer/dtype_policy.h"

namespace cohort::layers {

// The options of a layer that has none of its own.
struct NameOption {
  DTypePolicy dtype = {};
  std::string name = {};
};

}  // namespace cohort::layers
