#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cohort/model/sequential.h"
#include "tests/support/weight_values.h"

namespace cohort::test {

// Values that look like noise, between -1 and 1.
Tensor waves(const Shape& shape, int step = 37);

// What a training leaves behind.
struct TrainedInStep {
  WeightValues weights;
  std::map<std::string, std::vector<double>> history;
};

// A small training of 23 samples in batches of 5: the last batch has 3, so that of 4 replicas one gets none.
struct InStepJob {
  const char* name;
  std::function<Sequential()> make;
  Tensor x, y;
};

// Each with what replicas could get wrong: dropout and penalties, sequences, synchronized batch norm, sparse gradients.
std::vector<InStepJob> in_step_jobs();
// Trains one in the scope of the thread's strategy, with validation.
TrainedInStep train_in_step(const InStepJob& job, const char* optimizer, bool eagerly = false,
                            std::vector<Ref<Callback>> callbacks = {});
void expect_near(const TrainedInStep& a, const TrainedInStep& b, double tolerance);

}  // namespace cohort::test
