#include "cohort/ops/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/autodiff/tape.h"
#include "cohort/core/collective.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "tests/support/error_of.h"

namespace cohort::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// As if another replica had come with three times the values.
class ThriceBeside : public Collective {
 public:
  ThriceBeside() : Collective("thrice") {}
  void all_reduce(std::span<const Part> parts, const void* const* inputs, void* const* outputs,
                  Reduction reduction) override {
    ++calls;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const float factor = reduction == Reduction::Sum ? 4.0f : 3.0f;
      for (std::int64_t i = 0; i < parts[part].elements; ++i) {
        static_cast<float*>(outputs[part])[i] = factor * static_cast<const float*>(inputs[part])[i];
      }
    }
  }
  void gather(std::span<const Part> parts, int replicas, const void* const* inputs, void* const* outputs) override {
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (int replica = 0; replica < replicas; ++replica, ++outputs) {
        for (std::int64_t i = 0; i < parts[part].elements; ++i) {
          const float factor = replica == 0 ? 1.0f : 3.0f;
          static_cast<float*>(*outputs)[i] = factor * static_cast<const float*>(inputs[part])[i];
        }
      }
    }
  }
  int calls = 0;
};

struct CollectiveOps : testing::Test {
  const std::shared_ptr<ThriceBeside> others = std::make_shared<ThriceBeside>();
  const Tensor collective = Tensor::of_resource(others);
  const Tensor x = Tensor::of({1.0f, 2.0f}, {2}), y = Tensor::of({5.0f}, {1});
};

TEST_F(CollectiveOps, SumSeveralValuesInOneMeeting) {
  const Tensors sums = ops::all_reduce_sum(collective, {x, y});
  EXPECT_THAT(sums[0].to_vector<float>(), ElementsAre(4.0f, 8.0f));
  EXPECT_THAT(sums[1].to_vector<float>(), ElementsAre(20.0f));
  EXPECT_EQ(others->calls, 1);
}

TEST_F(CollectiveOps, TakeTheFirstReplicasValues) {
  EXPECT_THAT(ops::broadcast_first(collective, {x})[0].to_vector<float>(), ElementsAre(3.0f, 6.0f));
}

TEST_F(CollectiveOps, ListTheValuesOfAllReplicas) {
  const std::vector<Tensors> all = ops::gather_replicas(collective, {x, y}, 2);
  EXPECT_THAT(all[0][0].to_vector<float>(), ElementsAre(1.0f, 2.0f));
  EXPECT_THAT(all[0][1].to_vector<float>(), ElementsAre(3.0f, 6.0f));
  EXPECT_THAT(all[1][0].to_vector<float>(), ElementsAre(5.0f));
  EXPECT_THAT(all[1][1].to_vector<float>(), ElementsAre(15.0f));
}

// Every replica's result depends on every replica's value: gradients meet as well, of values that nobody used as zeros.
TEST_F(CollectiveOps, SumTheGradientsOfASum) {
  GradientTape tape;
  tape.watch(x);
  tape.watch(y);
  const Tensors sums = ops::all_reduce_sum(collective, {x, y});
  const Gradients gradients =
      tape.gradient(ops::sum(sums[0] * Tensor::of({1.0f, 10.0f}, {2})), std::vector<Tensor>{x, y});
  EXPECT_THAT(gradients[0].dense().to_vector<float>(), ElementsAre(4.0f, 40.0f));
  EXPECT_THAT(gradients[1].dense().to_vector<float>(), ElementsAre(0.0f));
  EXPECT_EQ(others->calls, 2);
}

TEST_F(CollectiveOps, RefuseWhatCannotBeAdded) {
  EXPECT_THAT(error_of([&] { ops::all_reduce_sum(collective, {Tensor::full({2}, 1.0, DType::Bool)}); }),
              HasSubstr("values must be floating, int32 or int64"));
  EXPECT_THAT(error_of([&] { ops::all_reduce_sum(x, {y}); }), HasSubstr("input 0 is what replicas meet by"));
  EXPECT_THAT(error_of([&] { ops::gather_replicas(collective, {Tensor::of_strings({"a"}, {})}, 2); }),
              HasSubstr("values must be numbers or truth values"));
}

}  // namespace
}  // namespace cohort::test
