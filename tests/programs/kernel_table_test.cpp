#include "benchmarks/kernel_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace cohort::bench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr DevicePeaks kPeaks{.half = 100e9, .single = 10e9, .twice = 5e9, .bytes = 2e9};

Timeline::Clock::time_point at(int milliseconds) {
  return Timeline::Clock::time_point() + std::chrono::milliseconds(milliseconds);
}

Timeline::Span kernel(int begin, int end, KernelWork work) {
  return {.category = "kernel",
          .name = "node",
          .begin = at(begin),
          .end = at(end),
          .work = std::make_shared<const KernelWork>(std::move(work))};
}

KernelWork product(DType operands) {
  return {.op = "MatMul", .shapes = "a", .operations = 50e6, .bytes = 1e6, .operands = operands};
}

TEST(KernelTable, AddsUpKernelsOfTheSameShapes) {
  Timeline timeline;
  timeline.add(kernel(0, 10, product(DType::Float32)));
  timeline.add(kernel(10, 20, product(DType::Float32)));
  timeline.add(kernel(20, 25, {.op = "Tanh", .shapes = "b", .bytes = 8e6}));
  timeline.add(kernel(25, 30, {.op = "Tanh", .shapes = "c", .bytes = 4e6}));
  const std::vector<KernelRow> rows = kernel_rows(timeline, 2, kPeaks);
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].op, "MatMul");
  EXPECT_DOUBLE_EQ(rows[0].calls, 1);
  EXPECT_DOUBLE_EQ(rows[0].seconds, 0.010);
  EXPECT_DOUBLE_EQ(rows[0].share, 20.0 / 30);
  EXPECT_DOUBLE_EQ(rows[0].operations_per_second, 5e9);
  EXPECT_DOUBLE_EQ(rows[0].of_peak, 0.5);
  EXPECT_EQ(rows[1].shapes, "b");
  EXPECT_DOUBLE_EQ(rows[1].calls, 0.5);
  EXPECT_DOUBLE_EQ(rows[1].bytes_per_second, 1.6e9);
  EXPECT_DOUBLE_EQ(rows[1].of_peak, 0.8);
}

TEST(KernelTable, MeasuresAgainstWhicheverPeakIsReachedFirst) {
  Timeline timeline;
  timeline.add(kernel(0, 1, product(DType::BFloat16)));
  const KernelRow half = kernel_rows(timeline, 1, kPeaks).at(0);
  EXPECT_DOUBLE_EQ(half.of_peak, 0.5);  // moving 1 MB takes 0.5 ms, 50 million operations as long
  DevicePeaks slow_memory = kPeaks;
  slow_memory.bytes = 1.25e9;
  EXPECT_DOUBLE_EQ(kernel_rows(timeline, 1, slow_memory).at(0).of_peak, 0.8);
  EXPECT_DOUBLE_EQ(kernel_rows(timeline, 1, {}).at(0).of_peak, 0);
}

TEST(KernelTable, CountsTheTimeOfAKernelInsideAnotherOnce) {
  Timeline timeline;
  timeline.add(kernel(2, 5, {.op = "Tanh", .shapes = "b"}));
  timeline.add(kernel(5, 6, {.op = "Tanh", .shapes = "b"}));
  timeline.add(kernel(0, 10, {.op = "Scan", .shapes = "a"}));
  timeline.add(kernel(10, 12, {.op = "Exp", .shapes = "b"}));
  const std::vector<KernelRow> rows = kernel_rows(timeline, 1, {});
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].op, "Scan");
  EXPECT_DOUBLE_EQ(rows[0].seconds, 0.006);
  EXPECT_DOUBLE_EQ(rows[1].seconds, 0.004);
  EXPECT_DOUBLE_EQ(rows[2].seconds, 0.002);
}

TEST(KernelTable, TakesKernelsOfDevicesAndLeavesOutAllElse) {
  Timeline timeline;
  timeline.lane("GPU:0 compute", [] {})->add(kernel(0, 4, product(DType::Float32)));
  Timeline::Span copy = kernel(0, 9, {.op = "copy", .bytes = 1});
  copy.category = "copy";
  timeline.lane("GPU:0 copies", [] {})->add(copy);
  copy.begin = at(8);
  timeline.lane("GPU:0 compute", [] {})->add(copy);
  timeline.add(Timeline::Span{.category = "step", .name = "step", .begin = at(0), .end = at(9)});
  timeline.add(Timeline::Span{.category = "kernel", .name = "unknown", .begin = at(0), .end = at(9)});
  const std::vector<KernelRow> rows = kernel_rows(timeline, 1, {});
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].op, "MatMul");
  EXPECT_DOUBLE_EQ(rows[0].share, 0.8);
  EXPECT_EQ(rows[1].op, "copy");
  EXPECT_THAT(kernel_rows(Timeline(), 1, {}), IsEmpty());
}

TEST(KernelTable, PrintsTheLongestAndTheSumOfTheRest) {
  Timeline timeline;
  timeline.add(kernel(0, 10, product(DType::Float32)));
  timeline.add(kernel(10, 15, {.op = "Tanh", .shapes = "b", .bytes = 8e6}));
  timeline.add(kernel(15, 18, {.op = "Exp", .shapes = "b"}));
  timeline.add(kernel(18, 20, {.op = "Sin", .shapes = "b"}));
  const std::string table = kernel_table(kernel_rows(timeline, 1, kPeaks), 2);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 5);
  EXPECT_THAT(table, AllOf(HasSubstr("  50.0 %    10.0000      1.0      5.0 GFLOP/s     50 %  MatMul  a\n"),
                           HasSubstr("  25.0 %     5.0000      1.0           2 GB/s     80 %  Tanh  b\n"),
                           HasSubstr("  25.0 %     5.0000      2.0                            all others\n"),
                           HasSubstr(" 100.0 %    20.0000      4.0                            sum\n")));
  EXPECT_THAT(table, Not(HasSubstr("Exp")));
}

}  // namespace
}  // namespace cohort::bench
