#include "cohort/distribute/worker/device_copies.h"

#include <gtest/gtest.h>

#include <thread>

#include "cohort/core/kernel.h"
#include "cohort/distribute/worker/recorded_stage.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/math.h"
#include "cohort/variables/variable.h"
#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

Device& copying_device() { return device_named("TEST:3"); }

constexpr std::int64_t kLength = 200'000;  // long enough that a copy which nobody waits for comes too late

std::shared_ptr<LocalVariable> copied_variable(double value) {
  return std::make_shared<LocalVariable>(Tensor::full({kLength}, value, DType::Float32, copying_device()),
                                         VariableOptions{.name = "v", .dtype = DType::Float32});
}

Tensor host_values(double value) { return Tensor::full({kLength}, value, DType::Float32, cpu()); }

float last_of(const Tensor& tensor) { return tensor.to_vector<float>().back(); }

TEST(DeviceCopies, WriteIntoTheVariablesOwnMemory) {
  DeviceCopies copies(copying_device());
  const auto first = copied_variable(0), second = copied_variable(0);
  std::unique_ptr<PinnedMemory> first_way, second_way;
  const void *first_place = first->kernel_pointer(), *second_place = second->kernel_pointer();
  const void* pinned = nullptr;
  for (int i = 1; i < 20; ++i) {
    copies.write({{first.get(), host_values(i), &first_way}, {second.get(), host_values(-i), &second_way}});
    if (i == 1) pinned = first_way->data();
    // Work that was begun after the write finds it.
    const Tensor sum = first->shared_value() + first->shared_value(), other = -second->shared_value();
    EXPECT_EQ(last_of(sum), static_cast<float>(2 * i));
    EXPECT_EQ(last_of(other), static_cast<float>(i));
  }
  EXPECT_EQ(first->kernel_pointer(), first_place);
  EXPECT_EQ(second->kernel_pointer(), second_place);
  EXPECT_EQ(first_way->data(), pinned);
}

// What computes with the old value still has it, and the source may change at once.
TEST(DeviceCopies, LeaveTheOldValuesToWorkThatWasBegunBefore) {
  DeviceCopies copies(copying_device());
  const auto variable = copied_variable(0);
  std::unique_ptr<PinnedMemory> way;
  std::vector<float> source(kLength);
  const Tensor value = Tensor::from_blob(source.data(), DType::Float32, {kLength});
  const auto write = [&](float number) {
    std::fill(source.begin(), source.end(), number);
    copies.write({{variable.get(), value, &way}});
    std::fill(source.begin(), source.end(), 1e6f);
  };
  const KernelFn slow = [](const KernelIO&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  const KernelCall call{.kernel = &slow};
  for (int i = 0; i < 3; ++i) {
    copying_device().run({&call, 1}, nullptr, nullptr);
    const Tensor before = variable->shared_value() + variable->shared_value();
    write(static_cast<float>(i) + 1);
    const Tensor after = variable->shared_value() + variable->shared_value();
    write(static_cast<float>(i) + 10);
    EXPECT_EQ(last_of(before), i == 0 ? 0 : 2 * (static_cast<float>(i) + 9));
    EXPECT_EQ(last_of(after), 2 * (static_cast<float>(i) + 1));
  }
  copying_device().synchronize();
}

TEST(DeviceCopies, MoveAVariableWhoseMemoryOthersShare) {
  DeviceCopies copies(copying_device());
  const auto variable = copied_variable(3);
  std::unique_ptr<PinnedMemory> way;
  const Tensor shared = variable->shared_value();
  copies.write({{variable.get(), host_values(4), &way}});
  EXPECT_EQ(last_of(shared), 3.0f);
  EXPECT_EQ(last_of(variable->shared_value()), 4.0f);
}

TEST(DeviceCopies, FetchManyAndWaitOnce) {
  DeviceCopies copies(copying_device());
  Tensors parts(4);
  std::vector<const void*> places;
  for (int i = 0; i < 10; ++i) {
    Tensors sources;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      sources.push_back(Tensor::full({kLength}, i, DType::Float32, copying_device()) +
                        Tensor::full({kLength}, static_cast<double>(k), DType::Float32, copying_device()));
    }
    copies.follow_compute();
    for (std::size_t k = 0; k < parts.size(); ++k) copies.fetch(sources[k], parts[k]);
    copies.finish_fetches();
    for (std::size_t k = 0; k < parts.size(); ++k) {
      EXPECT_EQ(parts[k].data<float>().back(), static_cast<float>(i) + static_cast<float>(k));
      if (i == 0) places.push_back(parts[k].raw());
      EXPECT_EQ(parts[k].raw(), places[k]);  // the same pinned memory
    }
  }
}

// Whoever still has what was fetched keeps it.
TEST(DeviceCopies, FetchIntoOtherMemoryWhileSomebodyHasTheOld) {
  DeviceCopies copies(copying_device());
  Tensor part;
  const auto fetch = [&](double value) {
    const Tensor source = Tensor::full({kLength}, value, DType::Float32, copying_device());
    copies.follow_compute();
    copies.fetch(source, part);
    copies.finish_fetches();
  };
  fetch(1);
  const Tensor held = part;
  fetch(2);
  EXPECT_EQ(held.data<float>().back(), 1.0f);
  EXPECT_EQ(part.data<float>().back(), 2.0f);
}

TEST(DeviceCopies, GiveTensorsOfTheHostAsTheyAre) {
  DeviceCopies copies(copying_device());
  const Tensor here = host_values(1);
  Tensors found;
  copies.copy_to_host({Tensor::full({2}, 7, DType::Float32, copying_device()), here}, found);
  copies.copy_to_host({Tensor::full({2}, 8, DType::Float32, copying_device())}, found);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(last_of(found[0]), 7.0f);  // its own memory, whatever was copied later
  EXPECT_EQ(found[1].raw(), here.raw());
  EXPECT_EQ(last_of(found[2]), 8.0f);
}

TEST(DeviceCopies, TellWhatWentWrongInTheWorkBefore) {
  DeviceCopies copies(copying_device());
  const KernelFn fails = [](const KernelIO&) { throw invalid_argument("Kernel", "a good value is expected"); };
  const KernelCall call{.kernel = &fails};
  copying_device().run({&call, 1}, nullptr, nullptr);
  Tensor part;
  const Tensor source = Tensor::full({2}, 1, DType::Float32, copying_device());
  copies.follow_compute();
  copies.fetch(source, part);
  EXPECT_EQ(cohort::test::error_of([&] { copies.finish_fetches(); }),
            "InvalidArgument Kernel: a good value is expected.");
}

// Doubles a value and counts in a variable.
class RecordedStageTest : public testing::Test {
 protected:
  RecordedStageTest() {
    traced_ = trace({{DType::Float32, {kUnknown}}}, [&](const Tensors& x) -> Tensors {
      count_.assign_add(Tensor::scalar(1, DType::Float32, cpu()));
      return {x[0] + x[0]};
    });
    executables_ = std::make_unique<ExecutableCache>(traced_.graph);
  }
  RecordedSteps* find(const Tensor& value, const Tensor& fixed = {}) {
    const Tensors values{value}, known{fixed};
    RecordedSteps* found = stage_.find(*executables_, copying_device(), values, traced_.captures, known);
    if (found) {
      found->add(values, {});
    } else {
      Tensors inputs{value.to(copying_device())}, outputs(1);
      inputs.insert(inputs.end(), traced_.captures.begin(), traced_.captures.end());
      executables_->run(inputs, outputs, {}, copying_device());
    }
    return found;
  }
  static Tensor batch(std::int64_t rows) { return Tensor::full({rows}, 1, DType::Float32, cpu()); }

  Variable count_{std::make_shared<LocalVariable>(Tensor::scalar(0, DType::Float32, copying_device()),
                                                  VariableOptions{.name = "count", .dtype = DType::Float32})};
  TracedGraph traced_;
  std::unique_ptr<ExecutableCache> executables_;
  RecordedStage stage_;
};

TEST_F(RecordedStageTest, IsRecordedFromTheSecondTimeOn) {
  EXPECT_EQ(find(batch(4)), nullptr);
  RecordedSteps* recorded = find(batch(4));
  ASSERT_NE(recorded, nullptr);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(find(batch(4)), recorded);
  EXPECT_EQ(recorded->recordings(), 2);
  EXPECT_EQ(last_of(recorded->outputs()[0]), 2.0f);
  EXPECT_EQ(read_now(count_).item<float>(), 12.0f);
}

TEST_F(RecordedStageTest, KeepsAFullAndAShortBatch) {
  find(batch(4));
  RecordedSteps* full = find(batch(4));
  EXPECT_EQ(find(batch(3)), nullptr);
  EXPECT_EQ(find(batch(4)), full);
  RecordedSteps* last = find(batch(3));
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(find(batch(4)), full);
  EXPECT_EQ(find(batch(3)), last);
}

// A value of the device is read where it lies only if it was said to stay there.
TEST_F(RecordedStageTest, ReadsFixedValuesWhereTheyLie) {
  const Tensor one = batch(2).to(copying_device()), two = Tensor::full({2}, 2, DType::Float32, copying_device());
  find(one);
  RecordedSteps* copied = find(one);
  ASSERT_NE(copied, nullptr);
  EXPECT_EQ(find(two), copied);
  EXPECT_EQ(last_of(copied->outputs()[0]), 4.0f);

  RecordedStage other;
  std::swap(stage_, other);
  find(one, one);
  RecordedSteps* fixed = find(one, one);
  ASSERT_NE(fixed, nullptr);
  EXPECT_EQ(find(one, one), fixed);
  EXPECT_NE(find(two, two), fixed);
}

}  // namespace
}  // namespace cohort::distribute
