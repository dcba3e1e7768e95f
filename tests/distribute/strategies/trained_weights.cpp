#include "tests/distribute/strategies/trained_weights.h"

#include <gtest/gtest.h>

#include "cohort/distribute/local_cluster.h"
#include "cohort/distribute/strategies/parameter_server_strategy.h"

namespace cohort::test {

void expect_same_weights_on_a_cluster(const std::function<WeightValues()>& trained) {
  const WeightValues expected = trained();
  distribute::LocalCluster cluster({{"worker", 1}, {"ps", 2}}, {});
  const distribute::ParameterServerStrategy strategy(cluster.resolver(), {});
  auto scope = strategy.scope();
  const WeightValues got = trained();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], expected[i]) << "weight " << i;
}

}  // namespace cohort::test
