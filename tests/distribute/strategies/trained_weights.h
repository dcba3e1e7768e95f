#pragma once

#include <functional>

#include "tests/support/weight_values.h"

namespace cohort::test {

// Trains by itself, then in the scope of a cluster with one worker and two parameter servers: the same weights, bit for
// bit.
void expect_same_weights_on_a_cluster(const std::function<WeightValues()>& trained);

}  // namespace cohort::test
