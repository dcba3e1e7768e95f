#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/core/attributes.h"

namespace cohort {

class Dataset;

// What Dataset::fingerprint() gives for a stage of this kind; never 0.
std::uint64_t fingerprint_of(const std::string& kind, const std::vector<Dataset>& inputs, const Attributes& attributes);

}  // namespace cohort
