#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <set>

#include "cohort/core/buffer.h"
#include "cohort/core/device_spec.h"
#include "cohort/graph/recorded_steps.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/variables/variable.h"
#include "tests/support/allocations.h"

namespace cohort {
namespace {

constexpr std::int64_t kLarge = 32768, kSmall = 2;  // numbers of a batch's two parts

Device& lender() { return device_named("TEST:5"); }

// Adds the means of both parts of each batch to a variable.
class ExchangedBatches {
 public:
  explicit ExchangedBatches(std::int64_t steps) {
    auto scope = device("/device:TEST:5");
    sum_ = Variable(Tensor::of<double>({0, 0}, {2}), {.name = "sum", .dtype = DType::Float64});
    const Specs parts{{DType::Float64, {kLarge}}, {DType::Float64, {kSmall}}};
    traced_ = trace(parts, [&](const Tensors& batch) -> Tensors {
      sum_.assign_add(ops::stack({ops::mean(batch[0]), ops::mean(batch[1])}));
      return {};
    });
    Specs specs = parts;
    for (const Tensor& capture : traced_.captures) specs.push_back(capture.spec());
    recorded_ = RecordedSteps::make(compile(*traced_.graph, specs, lender()), lender(), parts, traced_.captures, steps);
  }

  // Has the next batch made in `batch`, as stages of a dataset do.
  static void make_next(double value, Tensors& batch) {
    batch.resize(2);
    batch[0].renew(DType::Float64, {kLarge}, cpu());
    batch[1].renew(DType::Float64, {kSmall}, cpu());
    for (Tensor& part : batch) std::fill_n(static_cast<double*>(part.raw()), part.num_elements(), value);
  }
  void add(Tensors& batch) { recorded_->add_and_exchange(batch, {.seed = 1}); }
  // Of the large parts and of the small ones.
  std::vector<double> sums() {
    recorded_->flush();
    return read_now(sum_).to_vector<double>();
  }

 private:
  Variable sum_;
  TracedGraph traced_;
  std::unique_ptr<RecordedSteps> recorded_;
};

// While it lives, and nobody lets it go on, the device does nothing that is begun.
class HeldDevice {
 public:
  HeldDevice() : event_(lender().make_event()) {
    const KernelCall call{.kernel = &wait_};
    lender().run({&call, 1}, nullptr, nullptr);
    event_->record(DeviceStream::Compute);
    event_->delay(DeviceStream::Copy);
  }
  ~HeldDevice() {
    go_on();
    lender().synchronize();
  }
  void go_on() {
    if (!std::exchange(goes_on_, true)) latch_.count_down();
  }

 private:
  std::latch latch_{1};
  bool goes_on_ = false;
  const KernelFn wait_ = [this](const KernelIO&) { latch_.wait(); };
  std::unique_ptr<DeviceEvent> event_;
};

TEST(ExchangedBatches, GiveMemoryThatTheDeviceCopiesFrom) {
  ExchangedBatches steps(1);
  Tensors batch;
  ExchangedBatches::make_next(1, batch);
  EXPECT_EQ(batch[0].buffer()->pinned_for(), nullptr);
  const Tensor small = batch[1];
  steps.add(batch);
  EXPECT_EQ(batch[0].buffer()->pinned_for(), &lender());
  EXPECT_EQ(&batch[0].device(), &cpu());
  EXPECT_TRUE(batch[1].same_as(small)) << "a copy of its own would take longer";
  const void* memory = batch[0].raw();
  ExchangedBatches::make_next(2, batch);
  EXPECT_EQ(batch[0].raw(), memory) << "the next batch is made in what was given";
  steps.add(batch);
  EXPECT_NE(batch[0].raw(), memory);
  EXPECT_EQ(steps.sums(), (std::vector<double>{3, 3}));
}

TEST(ExchangedBatches, AreCopiedFromWhereTheyLie) {
  ExchangedBatches steps(1);
  Tensors batch;
  for (int i = 0; i < 4; ++i) {
    ExchangedBatches::make_next(1, batch);
    steps.add(batch);
  }
  EXPECT_EQ(steps.sums(), (std::vector<double>{4, 4}));
  HeldDevice held;
  ExchangedBatches::make_next(1, batch);
  auto* large = static_cast<double*>(batch[0].raw());
  auto* small = static_cast<double*>(batch[1].raw());
  steps.add(batch);
  // Not what one does; it shows that nothing has been copied on the host.
  std::fill_n(large, kLarge, 100.0);
  std::fill_n(small, kSmall, 100.0);
  held.go_on();
  EXPECT_EQ(steps.sums(), (std::vector<double>{104, 5}));
}

TEST(ExchangedBatches, AreNotWrittenWhileTheDeviceReadsThem) {
  for (const std::int64_t each : {1, 3}) {
    ExchangedBatches steps(each);
    Tensors batch;
    double expected = 0;
    const auto add = [&](double value) {
      ExchangedBatches::make_next(value, batch);
      const void* memory = batch[0].raw();
      steps.add(batch);
      expected += value;
      return memory;
    };
    for (int i = 0; i < 12; ++i) add(i);
    steps.sums();
    HeldDevice held;
    // As many as are begun without waiting for the device.
    std::set<const void*> read;
    for (int i = 0; i < 2 * each; ++i) EXPECT_TRUE(read.insert(add(100 + i)).second) << each << " " << i;
    EXPECT_FALSE(read.contains(batch[0].raw()));
    held.go_on();
    for (int i = 0; i < 100; ++i) read.insert(add(i));
    EXPECT_EQ(steps.sums(), (std::vector<double>{expected, expected}));
    EXPECT_EQ(read.size(), static_cast<std::size_t>(2 * each + 1)) << "they go round";
  }
}

TEST(ExchangedBatches, AllocateNothingInTheSteadyState) {
  ExchangedBatches steps(2);
  Tensors batch;
  const auto run = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ExchangedBatches::make_next(1, batch);
      steps.add(batch);
    }
  };
  run(20);
  const std::uint64_t before = test::allocations();
  run(100);
  if (test::allocations_are_counted()) {
    EXPECT_EQ(test::allocations(), before);
  }
  EXPECT_EQ(steps.sums(), (std::vector<double>{120, 120}));
}

TEST(ExchangedBatches, LeaveToOthersWhatIsTheirs) {
  ExchangedBatches steps(2);
  const Tensor rows = Tensor::full({4, kLarge}, 1, DType::Float64, cpu());
  Tensors batch;
  ExchangedBatches::make_next(1, batch);
  const Tensor kept = batch[0];
  for (int i = 0; i < 6; ++i) {
    steps.add(batch);
    EXPECT_TRUE(batch[0].same_as(kept));
  }
  batch[0] = rows.rows(1, 1).view({kLarge});
  const void* memory = batch[0].raw();
  for (int i = 0; i < 6; ++i) {
    steps.add(batch);
    EXPECT_EQ(batch[0].raw(), memory);
  }
  EXPECT_EQ(steps.sums(), (std::vector<double>{12, 12}));
}

TEST(ExchangedBatches, GiveNoMoreToThoseWhoDropIt) {
  ExchangedBatches steps(1);
  int given = 0;
  for (int i = 0; i < 200; ++i) {
    Tensors batch;
    ExchangedBatches::make_next(1, batch);
    steps.add(batch);
    given += batch[0].buffer()->pinned_for() != nullptr;
  }
  EXPECT_EQ(given, 64);
  EXPECT_EQ(steps.sums(), (std::vector<double>{200, 200}));
}

}  // namespace
}  // namespace cohort
