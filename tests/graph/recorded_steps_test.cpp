#include "cohort/graph/recorded_steps.h"

#include <gtest/gtest.h>

#include "cohort/autodiff/control_flow.h"
#include "cohort/core/device_spec.h"
#include "cohort/core/kernel.h"
#include "cohort/core/timeline.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/math.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/reduce.h"
#include "cohort/variables/variable.h"
#include "cohort/variables/variable_body.h"

namespace cohort {
namespace {

Device& there() { return device_named("TEST:4"); }

// Adds each batch, and a random number below 1e-3, to a variable.
class Sums {
 public:
  explicit Sums(std::int64_t steps, std::span<const Tensor> example = {}) {
    auto scope = device("/device:TEST:4");
    sum_ = Variable(Tensor::scalar(0), {.name = "sum"});
    traced_ = trace({{DType::Float32, {2}}}, [&](const Tensors& batch) -> Tensors {
      sum_.assign_add(ops::sum(batch[0]) + ops::random_uniform({}, 0, 1e-3, DType::Float32, 3));
      return {};
    });
    Tensors inputs{Tensor::of({0.0f, 0.0f}, {2}, there())};
    inputs.insert(inputs.end(), traced_.captures.begin(), traced_.captures.end());
    Specs specs;
    for (const Tensor& input : inputs) specs.push_back(input.spec());
    recorded_ = RecordedSteps::make(compile(*traced_.graph, specs, there()), there(), {specs.data(), 1},
                                    traced_.captures, steps, example);
  }
  void add(float value, std::uint64_t step, Device& from = cpu()) {
    recorded_->add(std::vector<Tensor>{Tensor::of({value, value}, {2}, from)}, {.seed = 1, .step = step});
  }
  double sum() { return read_now(sum_).item<double>(); }
  RecordedSteps& recorded() { return *recorded_; }
  Variable& variable() { return sum_; }

 private:
  Variable sum_;
  TracedGraph traced_;
  std::unique_ptr<RecordedSteps> recorded_;
};

TEST(RecordedSteps, LaunchesSeveralAtATime) {
  Sums sums(3);
  EXPECT_EQ(sums.recorded().steps_per_launch(), 3);
  for (int i = 0; i < 5; ++i) sums.add(1, static_cast<std::uint64_t>(i));
  EXPECT_NEAR(sums.sum(), 6, 0.01);  // the first three
  sums.recorded().flush();
  EXPECT_NEAR(sums.sum(), 10, 0.01);
  for (int i = 5; i < 100; ++i) sums.add(1, static_cast<std::uint64_t>(i));
  sums.recorded().flush();
  EXPECT_NEAR(sums.sum(), 200, 0.1);
  EXPECT_EQ(sums.recorded().recordings(), 2);
}

TEST(RecordedSteps, DrawOtherNumbersInEachStep) {
  Sums one(1), four(4);
  std::vector<double> seen;
  for (int i = 0; i < 12; ++i) {
    one.add(0, static_cast<std::uint64_t>(i));
    four.add(0, static_cast<std::uint64_t>(i));
    seen.push_back(one.sum());
  }
  EXPECT_EQ(one.sum(), four.sum());
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_GT(seen[i], seen[i - 1]);
}

TEST(RecordedSteps, RunKernelByKernelWhileTimesAreTaken) {
  Sums sums(2);
  Timeline timeline;
  {
    const TimelineScope scope(timeline);
    for (int i = 0; i < 3; ++i) sums.add(1, static_cast<std::uint64_t>(i));
    EXPECT_NEAR(sums.sum(), 6, 0.01);  // none waits for others
  }
  EXPECT_EQ(sums.recorded().recordings(), 0);
  std::vector<std::string> updates;
  for (const TimelineTrack& lane : timeline.lanes()) {
    for (const Timeline::Span& span : lane.timeline.spans()) {
      if (span.work && span.work->op == "AssignAddVariable") updates.push_back(lane.thread);
    }
  }
  EXPECT_EQ(updates, std::vector<std::string>(3, "TEST:4 compute"));
  for (int i = 3; i < 7; ++i) sums.add(1, static_cast<std::uint64_t>(i));
  EXPECT_NEAR(sums.sum(), 14, 0.01);
  EXPECT_EQ(sums.recorded().recordings(), 2);
}

TEST(RecordedSteps, ReadATensorOfTheDeviceWhereItLies) {
  const Tensors batch{Tensor::of({1.0f, 1.0f}, {2}, there())}, other{batch[0].clone()};
  Sums sums(3, batch);
  EXPECT_TRUE(sums.recorded().takes(batch));
  EXPECT_FALSE(sums.recorded().takes(other));
  for (int i = 0; i < 7; ++i) sums.recorded().add(batch, {.seed = 1, .step = static_cast<std::uint64_t>(i)});
  const Tensor twos = Tensor::of({2.0f, 2.0f}, {2}, there());
  there().copy(batch[0].raw(), twos.raw(), twos.bytes());  // seen by all steps that begin later
  for (int i = 7; i < 9; ++i) sums.recorded().add(batch, {.seed = 1, .step = static_cast<std::uint64_t>(i)});
  EXPECT_NEAR(sums.sum(), 24, 0.01);
}

TEST(RecordedSteps, TakesBatchesThatLieOnTheDevice) {
  Sums sums(4);
  for (int i = 0; i < 9; ++i) sums.add(1, 0, i % 2 == 0 ? there() : cpu());
  sums.recorded().flush();
  EXPECT_NEAR(sums.sum(), 18, 0.1);
}

TEST(RecordedSteps, AreRecordedAnewWhenAVariableHasMoved) {
  Sums sums(1);
  for (int i = 0; i < 4; ++i) sums.add(1, 0);
  EXPECT_EQ(sums.recorded().recordings(), 2);
  EXPECT_NEAR(sums.sum(), 8, 0.01);
  EXPECT_EQ(sums.recorded().recordings(), 2);
  const Tensor shared = sums.variable().body()->shared_value();
  for (int i = 0; i < 4; ++i) sums.add(1, 0);
  EXPECT_NEAR(sums.sum(), 16, 0.01);
  EXPECT_NEAR(shared.item<double>(), 8, 0.01);
  EXPECT_EQ(sums.recorded().recordings(), 4);
}

TEST(RecordedSteps, NeedADeviceThatRecords) {
  const Specs specs{{DType::Float32, {2}}};
  const TracedGraph nothing = trace(specs, [](const Tensors&) -> Tensors { return {}; });
  EXPECT_EQ(RecordedSteps::make(compile(*nothing.graph, specs, cpu()), cpu(), specs, {}, 1), nullptr);
  EXPECT_NE(RecordedSteps::make(compile(*nothing.graph, specs, there()), there(), specs, {}, 1), nullptr);
}

// Records, and has kernels of its own that cannot look at values while they are recorded.
class RecordingDevice : public Device {
 public:
  RecordingDevice() : Device("RECORDING", 0) {}
  bool host_readable() const override { return true; }
  bool can_record() const override { return true; }
  void* allocate(std::size_t bytes) override { return cpu().allocate(bytes); }
  void deallocate(void* memory, std::size_t bytes) override { cpu().deallocate(memory, bytes); }
  void copy_from_host(void*, const void*, std::size_t) override {}
  void copy_to_host(void*, const void*, std::size_t) override {}
  void copy(void*, const void*, std::size_t) override {}
  void fill(void*, const void*, std::size_t, std::size_t) override {}
  void enqueue_copy(void*, const void*, std::size_t, DeviceStream) override {}
  void run(std::span<const KernelCall>, const RandomState*, OutputAllocator*) override {}
  std::unique_ptr<DeviceEvent> make_event() override { return cpu().make_event(); }
};

KernelFn make_idle(const KernelSpec&) {
  return [](const KernelIO&) {};
}

TEST(RecordedSteps, DoNotRunOnTheHost) {
  RecordingDevice gpu;
  for (const OpDef* op : all_ops()) {
    if (op->name() != "Cumsum") register_kernel(op->name(), gpu.type(), make_idle);
  }
  Variable sum(Tensor::of({0.0f, 0.0f}, {2}, cpu()), {.name = "sum"});
  const Specs specs{{DType::Float32, {2}}};
  auto steps_of = [&](const std::function<Tensor(const Tensor&)>& change) {
    const TracedGraph traced = trace(specs, [&](const Tensors& batch) -> Tensors {
      sum.assign_add(change(batch[0]));
      return {};
    });
    Specs inputs = specs;
    for (const Tensor& capture : traced.captures) inputs.push_back(capture.spec());
    return RecordedSteps::make(compile(*traced.graph, inputs, cpu()), gpu, specs, traced.captures, 1000);
  };
  auto either = [](const Tensor& x, const std::function<Tensor(const Tensor&)>& change) {
    return ops::cond(
        ops::sum(x) > 1.0, [&] { return Tensors{change(x)}; }, [&] { return Tensors{x}; })[0];
  };
  auto halved = [&](const Tensor& x) { return either(x, [](const Tensor& y) { return y * 0.5; }); };
  auto summed = [&](const Tensor& x) { return either(x, [](const Tensor& y) { return ops::cumsum(y, 0); }); };
  auto scanned = [](const Tensor& x, const std::function<Tensor(const Tensor&)>& change) {
    return ops::scan([&](const Tensors& carry, const Tensors&) { return Tensors{change(carry[0])}; }, {x}, {},
                     {.length = 100})
        .carries[0];
  };
  EXPECT_NE(steps_of([](const Tensor& x) { return ops::tanh(x); }), nullptr);
  EXPECT_EQ(steps_of([](const Tensor& x) { return ops::cumsum(x, 0); }), nullptr);  // it runs on the host
  EXPECT_NE(steps_of(halved), nullptr);
  EXPECT_EQ(steps_of(summed), nullptr);
  EXPECT_NE(steps_of([&](const Tensor& x) { return scanned(x, halved); }), nullptr);
  EXPECT_EQ(steps_of([&](const Tensor& x) { return scanned(x, summed); }), nullptr);
  const auto turns =
      steps_of([&](const Tensor& x) { return scanned(x, [](const Tensor& y) { return ops::tanh(y); }); });
  ASSERT_NE(turns, nullptr);
  EXPECT_LT(turns->steps_per_launch(), 25);  // a turn is a kernel of its own
}

}  // namespace
}  // namespace cohort
