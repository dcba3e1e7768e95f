// Recorded steps of graphs with outputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/core/device_spec.h"
#include "cohort/core/timeline.h"
#include "cohort/graph/recorded_steps.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/variables/variable.h"

namespace cohort {
namespace {

Device& device_of_outputs() { return device_named("TEST:5"); }

// Of a batch x and a variable v of n elements each: x + v, then v += 1, then -(x + v).
class SumAndNegative {
 public:
  explicit SumAndNegative(std::int64_t n) {
    auto scope = device("/device:TEST:5");
    v_ = Variable(Tensor::full({n}, 0), {.name = "v"});
    const Specs batch{{DType::Float32, {n}}};
    traced_ = trace(batch, [&](const Tensors& x) -> Tensors {
      const Tensor sum = x[0] + v_.value();
      v_.assign_add(Tensor::full({n}, 1.0));
      return {sum, -(x[0] + v_.value())};
    });
    Specs specs = batch;
    for (const Tensor& capture : traced_.captures) specs.push_back(capture.spec());
    steps_ = RecordedSteps::make(compile(*traced_.graph, specs, device_of_outputs()), device_of_outputs(), batch,
                                 traced_.captures, 10);
  }
  RecordedSteps& steps() { return *steps_; }
  // What the outputs hold, in the order in which they were told of, read right after the step was begun.
  std::vector<float> told(float x) {
    std::vector<std::size_t> order;
    const auto n = static_cast<std::size_t>(steps_->outputs()[0].num_elements());
    const Tensors batch{Tensor::of(std::vector<float>(n, x), {static_cast<std::int64_t>(n)}, cpu())};
    parts_ = 0;
    steps_->add(batch, {}, [&](std::span<const std::size_t> outputs) {
      ++parts_;
      order.insert(order.end(), outputs.begin(), outputs.end());
    });
    std::vector<float> values;
    for (const std::size_t output : order) values.push_back(steps_->outputs()[output].to_vector<float>().back());
    return values;
  }
  // How often the last step told of some.
  int parts() const { return parts_; }

 private:
  Variable v_;
  TracedGraph traced_;
  std::unique_ptr<RecordedSteps> steps_;
  int parts_ = 0;
};

TEST(RecordedOutputs, LieInTheSameMemoryInEveryStep) {
  SumAndNegative graph(3);
  EXPECT_EQ(graph.steps().steps_per_launch(), 1);
  const std::vector<void*> places{graph.steps().outputs()[0].raw(), graph.steps().outputs()[1].raw()};
  for (int i = 0; i < 7; ++i) {
    const float v = static_cast<float>(i);
    EXPECT_THAT(graph.told(10), ::testing::UnorderedElementsAre(10 + v, -(11 + v)));
    EXPECT_EQ(graph.parts(), 1);
  }
  EXPECT_EQ(graph.steps().outputs()[0].raw(), places[0]);
  EXPECT_EQ(graph.steps().outputs()[1].raw(), places[1]);
  EXPECT_EQ(graph.steps().recordings(), 2);
}

TEST(RecordedOutputs, AreToldOfOneByOneWhereTheyAreLarge) {
  SumAndNegative graph(std::int64_t{1} << 20);
  EXPECT_EQ(graph.steps().launches_per_step(), 2u);
  for (int i = 0; i < 5; ++i) {
    const float v = static_cast<float>(i);
    EXPECT_THAT(graph.told(10), ::testing::ElementsAre(10 + v, -(11 + v)));
    EXPECT_EQ(graph.parts(), 2);
  }
}

// A copy that begins when an output was told of brings that output, though the step goes on.
TEST(RecordedOutputs, AreThereForCopiesThatFollow) {
  constexpr std::int64_t kElements = std::int64_t{1} << 20;
  SumAndNegative graph(kElements);
  Device& device = device_of_outputs();
  const std::size_t bytes = kElements * sizeof(float);
  auto* pinned = static_cast<float*>(device.allocate_pinned(2 * bytes));
  const auto computed = device.make_event(), copied = device.make_event();
  const Tensors batch{Tensor::full({kElements}, 5, DType::Float32, cpu())};
  for (int i = 0; i < 5; ++i) {
    graph.steps().add(batch, {}, [&](std::span<const std::size_t> outputs) {
      computed->record(DeviceStream::Compute);
      computed->delay(DeviceStream::Copy);
      for (const std::size_t output : outputs) {
        device.enqueue_copy(pinned + output * kElements, graph.steps().outputs()[output].raw(), bytes,
                            DeviceStream::Copy);
      }
    });
    copied->record(DeviceStream::Copy);
    copied->wait();
    EXPECT_EQ(pinned[kElements - 1], 5.0f + static_cast<float>(i));
    EXPECT_EQ(pinned[2 * kElements - 1], -6.0f - static_cast<float>(i));
  }
  device.deallocate_pinned(pinned, 2 * bytes);
}

TEST(RecordedOutputs, AreToldOfWhileTimesAreTaken) {
  SumAndNegative graph(std::int64_t{1} << 20);
  Timeline timeline;
  const TimelineScope scope(timeline);
  EXPECT_THAT(graph.told(10), ::testing::ElementsAre(10, -11));
  EXPECT_EQ(graph.parts(), 2);
  EXPECT_EQ(graph.steps().recordings(), 0);
}

}  // namespace
}  // namespace cohort
