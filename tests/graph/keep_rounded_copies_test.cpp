#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/autodiff/tape.h"
#include "cohort/core/device_spec.h"
#include "cohort/core/timeline.h"
#include "cohort/core/update_layout.h"
#include "cohort/graph/recorded_steps.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/ops.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/variable.h"
#include "cohort/variables/variable_body.h"
#include "tests/support/op_check.h"
#include "tests/support/same_products.h"

namespace cohort {
namespace {

// A device that records: the one under test where it does.
Device& recording_device() { return default_device().can_record() ? default_device() : device_named("TEST:5"); }

// Variables of optimizers lie there, too.
class KeepRoundedCopies : public ::testing::Test {
 private:
  const DeviceScope scope_ = device("/device:" + recording_device().name());
};

Tensor weights_like(const Shape& shape, unsigned seed) {
  return test::spread_tensor(shape, -1, 1, DType::Float32, seed).to(recording_device());
}

// A layer with a kernel and a bias, and its training step in a half type.
class HalfLayer {
 public:
  explicit HalfLayer(Ref<Optimizer> optimizer, DType half = DType::BFloat16, Variable kernel = {})
      : half_(half), optimizer_(std::move(optimizer)), kernel_(std::move(kernel)) {
    const auto scope = device("/device:" + recording_device().name());
    if (!kernel_.defined()) kernel_ = Variable(weights_like({6, 4}, 1), {.name = "kernel"});
    bias_ = Variable(weights_like({4}, 2), {.name = "bias"});
    traced_ = trace({{half_, {5, 6}}}, [&](const Tensors& batch) -> Tensors {
      GradientTape tape;
      const Tensor y = ops::matmul(batch[0], ops::cast(kernel_, half_)) + ops::cast(bias_, half_);
      const Tensor loss = ops::mean(ops::square(ops::cast(y, DType::Float32)));
      optimizer_->apply(tape.gradient(loss, Variables{kernel_, bias_}), {kernel_, bias_});
      return {};
    });
  }

  std::shared_ptr<Executable> compiled(bool copies, Device& on = recording_device()) const {
    Specs specs{{half_, {5, 6}}};
    for (const Tensor& capture : traced_.captures) specs.push_back(capture.spec());
    return compile(*traced_.graph, specs, on, {.copies = copies});
  }
  Tensor batch(int step) const { return ops::cast(weights_like({5, 6}, 10 + static_cast<unsigned>(step)), half_); }
  void run(Executable& executable, int step) const {
    Tensors inputs{batch(step)};
    inputs.insert(inputs.end(), traced_.captures.begin(), traced_.captures.end());
    executable.run(inputs, {}, {});
  }
  std::vector<float> weights() const {
    std::vector<float> all = read_now(kernel_).to_vector<float>();
    const std::vector<float> bias = read_now(bias_).to_vector<float>();
    all.insert(all.end(), bias.begin(), bias.end());
    return all;
  }

  DType half() const { return half_; }
  const Tensors& captures() const { return traced_.captures; }
  Variable& kernel() { return kernel_; }

 private:
  DType half_;
  Ref<Optimizer> optimizer_;
  Variable kernel_, bias_;
  TracedGraph traced_;
};

// How many variables are updated together with a rounded copy.
int kept_copies(const Executable& executable) {
  int count = 0;
  for (const Node& node : executable.graph().nodes) {
    if (!UpdateLayout::describes(*node.op)) continue;
    const UpdateLayout at(*node.op, node.attributes, static_cast<int>(node.inputs.size()));
    if (at.has_rounded()) count += at.count();
  }
  return count;
}

// Weights after a few steps, with and without copies, and what `meddle(layer, step)` does before each.
template <class Meddle>
void expect_the_same(const std::function<Ref<Optimizer>()>& make, DType half, const Meddle& meddle, int copies = 2) {
  HalfLayer with(make(), half), without(make(), half);
  const auto one = with.compiled(true), other = without.compiled(false);
  EXPECT_EQ(kept_copies(*one), copies);
  EXPECT_EQ(kept_copies(*other), 0);
  for (int step = 0; step < 5; ++step) {
    meddle(with, step);
    meddle(without, step);
    with.run(*one, step);
    without.run(*other, step);
    test::expect_same_product(with.weights(), without.weights(), half);
  }
}

const auto kDoNothing = [](HalfLayer&, int) {};
const auto kMakeSgd = [] { return Ref<Optimizer>(optimizers::SGD(0.5)); };

TEST_F(KeepRoundedCopies, TrainsAsWithoutThem) {
  const std::vector<std::function<Ref<Optimizer>()>> makers = {
      kMakeSgd,
      [] { return Ref<Optimizer>(optimizers::SGD(0.1, {.momentum = 0.9, .nesterov = true})); },
      [] { return Ref<Optimizer>(optimizers::Adam(0.1)); },
      [] { return Ref<Optimizer>(optimizers::Adam(0.1, {.amsgrad = true})); },
      [] { return Ref<Optimizer>(optimizers::AdamW(0.1, {.weight_decay = 0.1})); },
      [] { return Ref<Optimizer>(optimizers::Adamax(0.1)); },
      [] { return Ref<Optimizer>(optimizers::Adagrad(0.1)); },
      [] { return Ref<Optimizer>(optimizers::Adadelta(0.5)); },
      [] { return Ref<Optimizer>(optimizers::RMSprop(0.1)); },
      [] { return Ref<Optimizer>(optimizers::RMSprop(0.1, {.momentum = 0.9, .centered = true})); },
      [] { return Ref<Optimizer>(optimizers::Nadam(0.1)); },
      [] { return Ref<Optimizer>(optimizers::Lion(0.1)); },
      [] { return Ref<Optimizer>(optimizers::Ftrl(0.1)); },
      [] { return Ref<Optimizer>(optimizers::ScheduleFreeAdamW(0.1)); },
  };
  for (std::size_t i = 0; i < makers.size(); ++i) {
    SCOPED_TRACE(i);
    for (const DType half : {DType::BFloat16, DType::Float16}) expect_the_same(makers[i], half, kDoNothing);
  }
}

TEST_F(KeepRoundedCopies, NotOfVariablesThatAreWrittenOtherwise) {
  const auto lamb = [] { return Ref<Optimizer>(optimizers::Lamb(0.1)); };
  expect_the_same(lamb, DType::BFloat16, kDoNothing, 0);
  const auto scaled = [] {
    return Ref<Optimizer>(optimizers::LossScaleOptimizer(optimizers::SGD(0.1), {.initial_scale = 2.0}));
  };
  expect_the_same(scaled, DType::Float16, kDoNothing, 0);
}

TEST_F(KeepRoundedCopies, NotWhereWorkIsNotRecorded) {
  EXPECT_EQ(kept_copies(*HalfLayer(kMakeSgd()).compiled(true, cpu())), 0);
}

TEST_F(KeepRoundedCopies, FollowWhatOthersWrite) {
  // A callback's assignment, one in the variable's own memory, memory that is replaced, another graph's write.
  expect_the_same(kMakeSgd, DType::BFloat16, [](HalfLayer& layer, int step) {
    const Tensor other = weights_like({6, 4}, 30 + static_cast<unsigned>(step));
    if (step == 1) layer.kernel().assign(other);
    if (step == 2) layer.kernel().assign_add(other);
    if (step == 3) {
      auto body = std::dynamic_pointer_cast<LocalVariable>(layer.kernel().body());
      body->replace_value(other.clone());
    }
    if (step == 4) {
      const TracedGraph traced = trace({}, [&](const Tensors&) -> Tensors {
        layer.kernel().assign_sub(other);
        return {};
      });
      Specs specs;
      for (const Tensor& capture : traced.captures) specs.push_back(capture.spec());
      compile(*traced.graph, specs, recording_device())->run(traced.captures, {}, {});
    }
  });
}

TEST_F(KeepRoundedCopies, BelongToTheVariableWhoeverUpdatesIt) {
  // Two executables with copies of one kernel, and one without.
  const auto run = [](bool copies) {
    HalfLayer first(kMakeSgd());
    const HalfLayer second(Ref<Optimizer>(optimizers::Adam(0.1)), DType::BFloat16, first.kernel());
    const HalfLayer third(Ref<Optimizer>(optimizers::Lamb(0.1)), DType::BFloat16, first.kernel());
    const auto a = first.compiled(copies), b = second.compiled(copies), c = third.compiled(copies);
    for (int step = 0; step < 6; ++step) {
      first.run(*a, step);
      if (step % 2 == 0) second.run(*b, step);
      if (step % 3 == 0) third.run(*c, step);
    }
    std::vector<float> all = first.weights();
    for (const HalfLayer* other : {&second, &third}) {
      const std::vector<float> more = other->weights();
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  };
  test::expect_same_product(run(true), run(false), DType::BFloat16);
}

TEST_F(KeepRoundedCopies, AreRoundedAnewOnlyAfterOthersWrote) {
  HalfLayer layer(kMakeSgd());
  const auto executable = layer.compiled(true);
  const auto casts = [&](int step) {
    Timeline timeline;
    {
      const TimelineScope scope(timeline);
      layer.run(*executable, step);
      recording_device().synchronize();
    }
    int count = 0;
    for (const TimelineTrack& lane : timeline.lanes()) {
      for (const Timeline::Span& span : lane.timeline.spans()) count += span.work && span.work->op == "Cast";
    }
    return count;
  };
  const int first = casts(0), second = casts(1), third = casts(2);
  EXPECT_EQ(first, second + 2);
  EXPECT_EQ(third, second);
  layer.kernel().assign(weights_like({6, 4}, 3));
  EXPECT_EQ(casts(3), second + 1);
  EXPECT_EQ(casts(4), second);
  EXPECT_EQ(casts(5), second);
}

TEST_F(KeepRoundedCopies, GoOnThroughRecordedSteps) {
  const auto train = [](bool copies, std::int64_t steps_per_launch) {
    HalfLayer layer(Ref<Optimizer>(optimizers::Adam(0.1)));
    const Specs batch{layer.batch(0).spec()};
    const auto recorded =
        RecordedSteps::make(layer.compiled(copies), recording_device(), batch, layer.captures(), steps_per_launch);
    for (int step = 0; step < 17; ++step) {
      recorded->add(std::vector<Tensor>{layer.batch(step)}, {});
      if (step % 8 != 7) continue;
      recorded->flush();
      layer.kernel().assign(weights_like({6, 4}, 40));
    }
    recorded->flush();
    EXPECT_EQ(recorded->recordings(), 2);
    return layer.weights();
  };
  const std::vector<float> expected = train(false, 1);
  for (const std::int64_t steps : {1, 2, 4}) test::expect_same_product(train(true, steps), expected, DType::BFloat16);
}

TEST_F(KeepRoundedCopies, AReadBeforeAWriteKeepsItsValue) {
  const auto run = [](bool copies) {
    const auto scope = device("/device:" + recording_device().name());
    const Variable variable(weights_like({8}, 1), {.name = "v"});
    const Ref<Optimizer> sgd = kMakeSgd();
    // Each value is looked at when later writes are done.
    const TracedGraph traced = trace({}, [&](const Tensors&) -> Tensors {
      const Tensor before = variable, rounded_before = ops::cast(variable, DType::BFloat16);
      sgd->apply({Gradient(ops::ones({8}))}, {variable});
      const Tensor between = ops::cast(variable, DType::BFloat16), late = ops::cast(before, DType::BFloat16);
      sgd->apply({Gradient(ops::ones({8}))}, {variable});
      return {rounded_before, between, late, ops::cast(variable, DType::BFloat16)};
    });
    Specs specs;
    for (const Tensor& capture : traced.captures) specs.push_back(capture.spec());
    const auto executable = compile(*traced.graph, specs, recording_device(), {.cse = false, .copies = copies});
    EXPECT_EQ(kept_copies(*executable), copies ? 2 : 0);
    std::vector<float> all;
    for (int i = 0; i < 2; ++i) {
      Tensors outputs(4);
      executable->run(traced.captures, outputs, {});
      for (const Tensor& output : outputs) {
        const std::vector<float> values = output.to_vector<float>();
        all.insert(all.end(), values.begin(), values.end());
      }
    }
    return all;
  };
  EXPECT_EQ(run(true), run(false));
}

}  // namespace
}  // namespace cohort
