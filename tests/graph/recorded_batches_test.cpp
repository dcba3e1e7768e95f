#include <gtest/gtest.h>

#include <map>

#include "cohort/core/device_spec.h"
#include "cohort/core/kernel.h"
#include "cohort/core/timeline.h"
#include "cohort/graph/planned_executable.h"
#include "cohort/graph/recorded_steps.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/ops.h"
#include "cohort/variables/variable.h"
#include "cohort/variables/variable_body.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

Device& batches_device() { return device_named("TEST:6"); }

// Steps that square a batch, which is needed until late, and change a weight by it.
class SquaredBatches {
 public:
  SquaredBatches() {
    const auto scope = device("/device:TEST:6");
    weight_ = Variable(test::spread_tensor({4, 3}, -1, 1, DType::Float32, 1).to(batches_device()));
    traced_ = trace({batch().spec()}, [&](const Tensors& in) -> Tensors {
      // Something is made before the squares and after their last use that could lie where they do.
      const Tensor w = weight_.value(), early = ops::softmax(ops::matmul(w, w, false, true)),
                   mixed = ops::matmul(early, w);
      const Tensor squares = ops::square(in[0]), y = ops::softmax(ops::matmul(squares, mixed));
      const Tensor flow = ops::matmul(squares, y, true, false);
      const Tensor late = ops::softmax(ops::matmul(flow, flow, false, true));
      weight_.assign_sub(ops::matmul(late, flow) * 0.01);
      return {};
    });
    specs_ = {batch().spec()};
    for (const Tensor& capture : traced_.captures) specs_.push_back(capture.spec());
    executable_ = compile(*traced_.graph, specs_, batches_device());
  }

  static Tensor batch(unsigned seed = 2) {
    return test::spread_tensor({5, 4}, -1, 1, DType::Float32, seed).to(batches_device());
  }
  std::unique_ptr<RecordedSteps> record(std::int64_t steps, const Tensors& example = {}) const {
    return RecordedSteps::make(executable_, batches_device(), {specs_.data(), 1}, traced_.captures, steps, example);
  }
  std::vector<float> weight() const { return read_now(weight_).to_vector<float>(); }
  PlannedExecutable& executable() const { return dynamic_cast<PlannedExecutable&>(*executable_); }

 private:
  Variable weight_;
  TracedGraph traced_;
  Specs specs_;
  std::shared_ptr<Executable> executable_;
};

std::map<std::string, int> counted_kernels(const Timeline& timeline) {
  std::map<std::string, int> counts;
  for (const TimelineTrack& lane : timeline.lanes()) {
    for (const Timeline::Span& span : lane.timeline.spans()) {
      if (span.work) ++counts[span.work->op];
    }
  }
  return counts;
}

// The kernels of three steps that are begun at once.
std::map<std::string, int> kernels_of_three_steps(bool resident) {
  const SquaredBatches steps;
  const Tensors batch{SquaredBatches::batch()};
  const auto recorded = steps.record(4, resident ? batch : Tensors{});
  for (int i = 0; i < 3; ++i) recorded->add(batch, {});
  Timeline timeline;
  {
    const TimelineScope scope(timeline);
    recorded->flush();
    steps.weight();  // waits
  }
  return counted_kernels(timeline);
}

TEST(RecordedBatches, WhatIsMadeOfAResidentBatchAloneIsMadeOnceALaunch) {
  std::map<std::string, int> seen = kernels_of_three_steps(true);
  EXPECT_EQ(seen["Square"], 1);
  EXPECT_EQ(seen["MatMul"], 18);
  seen = kernels_of_three_steps(false);
  EXPECT_EQ(seen["Square"], 3);
  EXPECT_EQ(seen["MatMul"], 18);
}

TEST(RecordedBatches, TrainAsStepByStep) {
  const SquaredBatches together, apart;
  const Tensors batch{SquaredBatches::batch()};
  const auto launches = together.record(4, batch), steps = apart.record(1);
  const auto add = [&](int count) {
    for (int i = 0; i < count; ++i) {
      launches->add(batch, {});
      steps->add(batch, {});
    }
    launches->flush();
    steps->flush();
    EXPECT_EQ(together.weight(), apart.weight());
  };
  add(10);
  // Other numbers in the same place are those of the next launch.
  const Tensor others = SquaredBatches::batch(9);
  batches_device().copy(batch[0].raw(), others.raw(), others.bytes());
  add(4);
  EXPECT_GE(launches->recordings(), 2);
}

// Nothing else is written where a result stays.
TEST(RecordedBatches, OnlyCallsOnTheSameInputsNeedNotBeRepeated) {
  const SquaredBatches steps;
  const std::size_t inputs = steps.executable().graph().inputs.size();
  std::vector<bool> same(inputs, true);
  EXPECT_EQ(steps.executable().calls_on(same).size(), 1u);
  same[0] = false;
  EXPECT_TRUE(steps.executable().calls_on(same).empty());
}

}  // namespace
}  // namespace cohort
