#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cohort/cohort.h"
#include "cohort/distribute/coordinator/cluster_runtime.h"

namespace cohort::test {

// Values of each of the two weights.
constexpr std::int64_t kWidth = 8192;
// Of the message that carries one weight's gradient, or its new value.
constexpr std::size_t kPayload = kWidth * sizeof(float);

// Has two weights that lie on two servers. A step with SGD(1) adds the sum of its batch to every value of both, so
// after training they say which elements were counted how often: whole numbers, hence exactly.
class SummingModel : public Sequential {
 public:
  explicit SummingModel(std::int64_t steps_per_execution = 5);
  Tensor compute_loss(const Element& x, const Element& y, const Element& y_pred, const Element& sample_weight,
                      bool training) override;
};

// Batches of one whole number each; no two neighbours alike.
Dataset numbers(std::int64_t count);
std::int64_t sum_of_numbers(std::int64_t count);

// What came of a training.
struct Sums {
  std::vector<std::int64_t> weights;  // of each weight the value that all of it has; -1 where they differ
  std::int64_t iterations = 0;
  friend bool operator==(const Sums&, const Sums&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Sums& sums);
};
Sums expected_sums(std::int64_t count, int epochs = 1);
Sums sums_of(Model& model);

// Its two weights lie on two servers, so that a step has a moment between them.
inline const distribute::ParameterServerStrategyOptions kOnBothServers{.placement = "round_robin"};

// fit on a cluster: all elements once an epoch.
Sums fit_sums(const distribute::ParameterServerStrategy& strategy, std::int64_t count, int epochs = 1);
// The same in a loop of one's own: one closure for each element.
Sums schedule_sums(const distribute::ParameterServerStrategy& strategy, std::int64_t count);

}  // namespace cohort::test
