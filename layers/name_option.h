#pragma once

#include <string>

namespace cohort::layers {

// The options of a layer that has none but its name.
struct NameOption {
  std::string name = {};
};

}  // namespace cohort::layers
