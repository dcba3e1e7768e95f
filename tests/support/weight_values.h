#pragma once

#include <vector>

#include "cohort/model/model.h"

namespace cohort::test {

using WeightValues = std::vector<std::vector<float>>;

WeightValues values_of(const Model& model);

}  // namespace cohort::test
