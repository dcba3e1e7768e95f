#include <gtest/gtest.h>

#include "cohort/core/device_spec.h"
#include "cohort/core/random.h"
#include "cohort/layers/layers.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

// Weights that lie on one device, trained by a program whose default device is another one.
std::vector<float> train_on_another_device(bool weights_on_the_cpu) {
  set_random_seed(5);
  Sequential model({layers::Dense(8, {.activation = "tanh"}), layers::Dense(1)});
  model.compile({.optimizer = optimizers::Adam(1e-2),
                 .loss = "mse",
                 .metrics = {"mean_absolute_error"},
                 .steps_per_execution = 2});
  {
    const DeviceScope scope = device(weights_on_the_cpu ? "CPU:0" : default_device().name());
    model.build({kUnknown, 1});
  }
  model.fit(testing_models::line_x(), testing_models::line_y(),
            {.batch_size = 2, .epochs = 4, .verbose = 0, .shuffle = false});
  for (const Variable& weight : model.weights()) {
    EXPECT_EQ(weight.value().device().name(), weights_on_the_cpu ? "CPU:0" : default_device().name());
  }
  return testing_models::all_weights(model);
}

TEST(FitOnAnotherDevice, TrainsWeightsWhereTheyLie) {
  const std::string before = default_device().name();
  if (before == "CPU:0") set_default_device("TEST:3");
  const std::vector<float> here = train_on_another_device(false), there = train_on_another_device(true);
  set_default_device(before);
  ASSERT_EQ(here.size(), 25u);
  ASSERT_EQ(there.size(), here.size());
  for (std::size_t i = 0; i < here.size(); ++i) EXPECT_NEAR(there[i], here[i], 1e-5) << i;
}

}  // namespace
}  // namespace cohort
