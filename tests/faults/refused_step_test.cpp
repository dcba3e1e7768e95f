// A server that refuses a step is an error of the program; the tasks serve it on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "tests/support/deadline.h"
#include "tests/support/error_of.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;

TEST(RefusedStep, WorkersGoOnAfterwards) {
  const Deadline deadline(60s);
  distribute::LocalCluster cluster({{"worker", 1}, {"ps", 2}});
  distribute::ParameterServerStrategy strategy(cluster.resolver(), {.placement = "round_robin"});
  auto scope = strategy.scope();
  Variable first(Tensor::full({3}, 0.0)), second(Tensor::full({}, 0.0));
  distribute::ClusterCoordinator coordinator(strategy);
  // Batches of three, three and two: the last one does not fit the first variable.
  const Dataset data = datasets::from_tensor_slices(Tensor::full({8}, 1.0)).batch(3);
  auto iterator = coordinator.create_per_worker_dataset(data).iterator();
  Function step = function([&](Iterator elements) {
    auto [x] = elements.next<1>();
    first.assign_add(x);
    second.assign_add(ops::sum(x));
  });
  for (int i = 0; i < 3; ++i) coordinator.schedule(step, {iterator});
  EXPECT_THAT(error_of([&] { coordinator.join(); }), testing::HasSubstr("ps:0"));
  auto again = coordinator.create_per_worker_dataset(data).iterator();
  for (int i = 0; i < 2; ++i) coordinator.schedule(step, {again});
  coordinator.join();
  EXPECT_EQ(read_now(first).to_vector<float>(), (std::vector<float>{4, 4, 4}));
}

}  // namespace
}  // namespace cohort::test
