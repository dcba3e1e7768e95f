#pragma once

#include <gtest/gtest.h>

#include "cohort/model/fit/local_runner.h"
#include "cohort/model/fit/training.h"
#include "cohort/model/model.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/support/allocations.h"

namespace cohort::layers {

// Expects that training on the batches asks the heap for nothing once the first steps have run.
inline void expect_no_allocations_in_warm_steps(Model& model, const Dataset& batches) {
  model.compile({.optimizer = optimizers::Adam(1e-3), .loss = "mse"});
  LocalRunner runner(model.training().program(Program::Kind::Train), {.dataset = batches.repeat()},
                     {.steps_per_epoch = 1000});
  runner.begin_epoch(0);
  for (int step = 0; step < 10; ++step) runner.run(step, 1);
  runner.synchronize();
  const std::uint64_t before = test::allocations();
  runner.run(10, 20);
  runner.synchronize();
  EXPECT_EQ(test::allocations() - before, 0u);
}

}  // namespace cohort::layers
