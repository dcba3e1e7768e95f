#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "cohort/core/collective.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/collectives.h"
#include "cohort/ops/ops.h"
#include "tests/support/error_of.h"

namespace cohort::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// As if three others had come with the same values; what was begun is nothing to look at before it is waited for.
class ThreeBesideLater : public Collective {
 public:
  struct Begun {
    std::vector<float*> values;
    std::vector<std::vector<float>> sums;
  };
  ThreeBesideLater() : Collective("three beside") {}
  void all_reduce(std::span<const Part>, const void* const*, void* const*, Reduction) override {}
  void start(std::span<const Part> parts, void* const* values, void*) override {
    Begun& own = begun.emplace_back();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      float* const first = static_cast<float*>(values[i]);
      own.values.push_back(first);
      own.sums.emplace_back(first, first + parts[i].elements);
      for (float& sum : own.sums.back()) sum *= 4.0f;
      std::fill(first, first + parts[i].elements, std::numeric_limits<float>::quiet_NaN());
    }
  }
  void wait(void* const* values, void*) override {
    const Begun& own = begun[waited++];
    for (std::size_t i = 0; i < own.values.size(); ++i) {
      EXPECT_EQ(own.values[i], values[i]);
      std::copy(own.sums[i].begin(), own.sums[i].end(), own.values[i]);
    }
  }
  void abandon() noexcept override { ++abandoned; }
  std::vector<Begun> begun;
  std::size_t waited = 0;
  int abandoned = 0;
};

struct OverlapWork : testing::Test {
  const DefaultDeviceScope host{&cpu()};
  // The graph of `body` with the collective and one vector of three, and what it gives for 1, 2, 3.
  std::vector<std::vector<float>> results(const std::function<Tensors(const Tensor&, const Tensor&)>& body,
                                          const PassOptions& passes = {}) {
    const Tensors inputs{Tensor::of_resource(others), Tensor::of({1.0f, 2.0f, 3.0f}, {3})};
    const TracedGraph traced = trace(
        {inputs[0].spec(), inputs[1].spec()}, [&](const Tensors& given) { return body(given[0], given[1]); }, inputs);
    executable = compile(*traced.graph, {inputs[0].spec(), inputs[1].spec()}, cpu(), passes);
    Tensors outputs(traced.graph->outputs.size());
    executable->run(inputs, outputs, {});
    std::vector<std::vector<float>> values;
    for (const Tensor& output : outputs) values.push_back(output.to_vector<float>());
    return values;
  }
  int position(std::string_view op, int occurrence = 0) const {
    const std::vector<Node>& nodes = executable->graph().nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].op->name() == op && occurrence-- == 0) return static_cast<int>(i);
    }
    return -1;
  }
  const std::shared_ptr<ThreeBesideLater> others = std::make_shared<ThreeBesideLater>();
  std::shared_ptr<Executable> executable;
};

Tensors summed_in_halves(const Tensor& collective, const std::vector<Tensors>& packs) {
  std::vector<Tensors> started;
  for (const Tensors& pack : packs) started.push_back(ops::start_all_reduce_sum(collective, pack));
  Tensors sums;
  for (const Tensors& pack : started) {
    for (const Tensor& sum : ops::wait_for_all_reduce(collective, pack)) sums.push_back(sum);
  }
  return sums;
}

TEST_F(OverlapWork, BeginsWhenInputsAreThereAndWaitsWhenNothingIsLeft) {
  const auto values = results([](const Tensor& collective, const Tensor& x) {
    const Tensor first = ops::cumsum(x, 0), second = ops::cumsum(first, 0), beside = ops::cumsum(x * 2.0, 0);
    const Tensors sums = summed_in_halves(collective, {{first}, {second}});
    return Tensors{sums[0] + sums[1], ops::cumsum(beside, 0)};
  });
  EXPECT_THAT(values[0], ElementsAre(8.0f, 28.0f, 64.0f));
  EXPECT_THAT(values[1], ElementsAre(2.0f, 8.0f, 20.0f));
  EXPECT_LT(position("AllReduceStart", 0), position("Cumsum", 1)) << executable->graph().to_string();
  EXPECT_LT(position("AllReduceStart", 1), position("Cumsum", 2)) << executable->graph().to_string();
  EXPECT_GT(position("AllReduceWait", 0), position("Cumsum", 3)) << executable->graph().to_string();
}

TEST_F(OverlapWork, TakesWhatIsLittleAlong) {
  results([](const Tensor& collective, const Tensor& x) {
    const Tensor first = ops::cumsum(x, 0), second = ops::cumsum(ops::cumsum(x, 0) * 3.0, 0);
    const Tensor scaled = first * 0.5;  // written behind all of the backward pass
    return Tensors{summed_in_halves(collective, {{scaled}})[0], second};
  });
  EXPECT_LT(position("AllReduceStart"), position("Cumsum", 1)) << executable->graph().to_string();
}

TEST_F(OverlapWork, SumsInPlaceOfWhatNobodyElseUses) {
  const auto body = [](const Tensor& collective, const Tensor& x) {
    const Tensors sums = summed_in_halves(collective, {{ops::cumsum(x, 0), ops::cumsum(x + 1.0, 0)}});
    return Tensors{ops::cumsum(sums[0], 0), ops::cumsum(sums[1], 0)};
  };
  const auto values = results(body);
  EXPECT_THAT(values[0], ElementsAre(4.0f, 16.0f, 40.0f));
  EXPECT_THAT(values[1], ElementsAre(8.0f, 28.0f, 64.0f));
  const std::size_t planned = executable->arena_bytes();
  results(body, {.memory = false});
  EXPECT_LT(planned, executable->arena_bytes());
  EXPECT_LE(planned, 4 * Device::kAlignment);
}

TEST_F(OverlapWork, LeavesWhatOthersUseAsItIs) {
  const auto values = results([](const Tensor& collective, const Tensor& x) {
    const Tensor twice = ops::cumsum(x, 0);
    const Tensors sums = summed_in_halves(collective, {{twice, twice}, {twice}});
    return Tensors{sums[0], ops::cumsum(sums[1], 0), sums[2] + twice, ops::cumsum(twice, 0)};
  });
  EXPECT_THAT(values[0], ElementsAre(4.0f, 12.0f, 24.0f));
  EXPECT_THAT(values[1], ElementsAre(4.0f, 16.0f, 40.0f));
  EXPECT_THAT(values[2], ElementsAre(5.0f, 15.0f, 30.0f));
  EXPECT_THAT(values[3], ElementsAre(1.0f, 4.0f, 10.0f));
}

TEST_F(OverlapWork, SumsWhatComesFromOutsideIntoMemoryOfItsOwn) {
  const auto values = results([](const Tensor& collective, const Tensor& x) {
    return Tensors{summed_in_halves(collective, {{x}})[0], x + 1.0};
  });
  EXPECT_THAT(values[0], ElementsAre(4.0f, 8.0f, 12.0f));
  EXPECT_THAT(values[1], ElementsAre(2.0f, 3.0f, 4.0f));
}

TEST_F(OverlapWork, IsAbandonedWhereTheRunFails) {
  EXPECT_THAT(error_of([&] {
                results([](const Tensor& collective, const Tensor& x) {
                  const Tensors sums = summed_in_halves(collective, {{ops::cumsum(x, 0)}});
                  return Tensors{sums[0], ops::check_numerics(ops::log(-ops::cumsum(x, 0)), "of the middle")};
                });
              }),
              HasSubstr("of the middle"));
  EXPECT_GE(others->abandoned, 1);
}

}  // namespace
}  // namespace cohort::test
