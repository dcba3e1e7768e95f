#pragma once

#include <functional>
#include <vector>

#include "cohort/model/model.h"

namespace cohort::test {

using WeightValues = std::vector<std::vector<float>>;

WeightValues values_of(const Model& model);

// Trains by itself, then in the scope of a cluster with one worker and two parameter servers: the same weights, bit for
// bit.
void expect_same_weights_on_a_cluster(const std::function<WeightValues()>& trained);

}  // namespace cohort::test
