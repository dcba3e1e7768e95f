#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "cohort/core/kernel_work.h"
#include "cohort/core/timeline.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/passes/rewrite.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/reduce.h"

namespace cohort {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A planned graph of some kernels on a device.
class TimedGraph {
 public:
  explicit TimedGraph(Device& device) : x_(Tensor::full({8, 16}, 0.5, DType::Float32, device)), outputs_(1) {
    const Specs specs{x_.spec()};
    const TracedGraph traced = trace(specs, [](const Tensors& inputs) -> Tensors {
      const Tensor square = ops::matmul(inputs[0], inputs[0], /*transpose_a=*/true);
      return {ops::sum(ops::tanh(square) * square, 0)};
    });
    executable_ = compile(*traced.graph, specs, device, {.fuse = false});
  }
  void run() { executable_->run({&x_, 1}, outputs_, {}); }
  std::vector<std::string> kernel_names() const {
    std::vector<std::string> names;
    for (const Node& node : executable_->graph().nodes) {
      if (!passes::is_input(node) && !passes::is_constant(node) && !node.op->is_alias()) names.push_back(node.name);
    }
    return names;
  }

 private:
  Tensor x_;
  Tensors outputs_;
  std::shared_ptr<Executable> executable_;
};

// Of the thread itself and of its devices.
std::vector<Timeline::Span> kernel_spans(const Timeline& timeline) {
  std::vector<Timeline::Span> kernels;
  auto add = [&](const Timeline& of) {
    for (const Timeline::Span& span : of.spans()) {
      if (span.category == "kernel") kernels.push_back(span);
    }
  };
  add(timeline);
  for (const TimelineTrack& lane : timeline.lanes()) add(lane.timeline);
  return kernels;
}

class KernelSpans : public ::testing::TestWithParam<const char*> {
 protected:
  Device& there() const { return *GetParam() ? device_named(GetParam()) : default_device(); }
};

TEST_P(KernelSpans, AreThereForEachKernelOfARun) {
  TimedGraph graph(there());
  graph.run();
  there().synchronize();
  Timeline timeline;
  const auto begin = Timeline::Clock::now();
  {
    const TimelineScope scope(timeline);
    graph.run();
    graph.run();
  }
  const auto end = Timeline::Clock::now();
  std::vector<std::string> expected = graph.kernel_names();
  ASSERT_GE(expected.size(), 4u);
  const std::size_t once = expected.size();
  for (std::size_t i = 0; i < once; ++i) expected.push_back(expected[i]);
  const std::vector<Timeline::Span> kernels = kernel_spans(timeline);
  std::vector<std::string> names;
  for (const Timeline::Span& span : kernels) names.push_back(span.name);
  EXPECT_EQ(names, expected);
  constexpr auto kClockError = std::chrono::milliseconds(2);  // between a GPU's and the host's
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_LT(kernels[i].begin, kernels[i].end);
    EXPECT_GE(kernels[i].begin, i == 0 ? begin - kClockError : kernels[i - 1].end);
    EXPECT_LE(kernels[i].end, end + kClockError);
  }
}

TEST_P(KernelSpans, SayWhatWasComputed) {
  TimedGraph graph(there());
  Timeline timeline;
  {
    const TimelineScope scope(timeline);
    graph.run();
  }
  const std::vector<Timeline::Span> kernels = kernel_spans(timeline);
  ASSERT_FALSE(kernels.empty());
  const KernelWork& product = *kernels[0].work;
  EXPECT_EQ(product.op, "MatMul");
  EXPECT_EQ(product.shapes, "float32(8, 16), float32(8, 16) -> float32(16, 16)");
  EXPECT_EQ(product.operations, 2 * 16 * 16 * 8);
  EXPECT_EQ(product.bytes, 4 * (2 * 8 * 16 + 16 * 16));
  EXPECT_EQ(kernels[1].work->operations, 0);
}

TEST_P(KernelSpans, AreNotTakenWithoutATimeline) {
  TimedGraph graph(there());
  Timeline timeline;
  graph.run();
  {
    const TimelineScope scope(timeline);
    graph.run();
  }
  graph.run();
  there().synchronize();
  EXPECT_THAT(kernel_spans(timeline), SizeIs(graph.kernel_names().size()));
}

TEST_P(KernelSpans, OfOpsByThemselvesHaveTheirNames) {
  const Tensor x = Tensor::of({1.0f, 2.0f}, {2}, there());
  Timeline timeline;
  {
    const TimelineScope scope(timeline);
    EXPECT_FLOAT_EQ(ops::sum(x).item<float>(), 3);
  }
  const std::vector<Timeline::Span> kernels = kernel_spans(timeline);
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_EQ(kernels[0].name, "Sum");
  EXPECT_EQ(kernels[0].work->shapes, "float32(2,) -> float32()");
}

INSTANTIATE_TEST_SUITE_P(OnDevices, KernelSpans, ::testing::Values("CPU:0", "TEST:5", ""));

TEST(KernelSpansOfADevice, AreOfALaneOfItsOwn) {
  Device& there = device_named("TEST:5");
  TimedGraph graph(there);
  Timeline timeline;
  {
    const TimelineScope scope(timeline);
    graph.run();
    std::vector<char> bytes(64);
    void* place = there.allocate(64);
    there.enqueue_copy(place, bytes.data(), 64, DeviceStream::Copy);
    there.synchronize();
    there.deallocate(place, 64);
  }
  EXPECT_THAT(timeline.spans(), IsEmpty());
  const std::vector<TimelineTrack> lanes = timeline.lanes();
  ASSERT_THAT(lanes, SizeIs(2));
  EXPECT_EQ(lanes[0].thread, "TEST:5 compute");
  EXPECT_THAT(lanes[0].timeline.spans(), SizeIs(graph.kernel_names().size()));
  EXPECT_EQ(lanes[1].thread, "TEST:5 copies");
  ASSERT_THAT(lanes[1].timeline.spans(), SizeIs(1));
  EXPECT_EQ(lanes[1].timeline.spans()[0].category, "copy");
  EXPECT_EQ(lanes[1].timeline.spans()[0].work->bytes, 64);
}

// What the device has not done when the thread ends its recording is waited for.
TEST(KernelSpansOfADevice, AreAllThereWhenTheScopeEnds) {
  Device& there = device_named("TEST:5");
  constexpr auto kLong = std::chrono::milliseconds(20);
  const KernelFn slow = [&](const KernelIO&) { std::this_thread::sleep_for(kLong); };
  const KernelCall call{.kernel = &slow};
  Timeline timeline;
  {
    const TimelineScope scope(timeline);
    there.run({&call, 1}, nullptr, nullptr);
  }
  const std::vector<Timeline::Span> kernels = kernel_spans(timeline);
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_GE(kernels[0].end - kernels[0].begin, kLong);
  EXPECT_EQ(kernels[0].work, nullptr);
}

KernelWork work(const char* op, const Specs& inputs, const Attributes& attributes = {}) {
  const OpDef& definition = find_op(op);
  return work_of(OpCall(definition, attributes, inputs), definition.infer_outputs(inputs, attributes));
}

TEST(KernelWork, CountsOperationsOfProductsConvolutionsAndAttention) {
  const DType f32 = DType::Float32, bf16 = DType::BFloat16;
  EXPECT_EQ(work("MatMul", {{f32, {3, 5, 7}}, {f32, {7, 2}}}).operations, 2 * 3 * 5 * 7 * 2);
  EXPECT_EQ(work("MatMul", {{f32, {7, 5}}, {f32, {2, 7}}}, {{"transpose_a", true}, {"transpose_b", true}}).operations,
            2 * 5 * 7 * 2);
  const Attributes conv{{"strides", std::vector<std::int64_t>{2, 2}},
                        {"dilations", std::vector<std::int64_t>{1, 1}},
                        {"padding", "same"},
                        {"groups", 2}};
  const TensorSpec image{bf16, {4, 8, 8, 6}}, kernel{bf16, {3, 3, 3, 10}}, result{bf16, {4, 4, 4, 10}};
  constexpr double kConv = 2.0 * 4 * 4 * 4 * 10 * 3 * 3 * 3;
  EXPECT_EQ(work("Conv", {image, kernel}, conv).operations, kConv);
  EXPECT_EQ(work("Conv", {image, kernel}, conv).operands, bf16);
  EXPECT_EQ(work("ConvGradInput", {result, kernel, image}, conv).operations, kConv);
  // The image is there for its shape only.
  EXPECT_EQ(work("ConvGradInput", {result, kernel, image}, conv).bytes, 2 * (4 * 4 * 4 * 10 + 270 + 4 * 8 * 8 * 6));
  EXPECT_EQ(work("ConvGradKernel", {image, result, kernel}, conv).operations, kConv);
  EXPECT_EQ(work("ConvBiasGrad", {image, result, kernel}, conv).operations, kConv);
  const TensorSpec query{f32, {2, 5, 3, 4}}, key{f32, {2, 5, 3, 4}}, value{f32, {2, 5, 3, 6}};
  const Attributes single{{"strides", std::vector<std::int64_t>{2, 2}},
                          {"dilations", std::vector<std::int64_t>{1, 1}},
                          {"padding", "same"}};
  EXPECT_EQ(work("ConvTranspose", {result, kernel}, single).operations, kConv);
  EXPECT_EQ(work("DotProductAttention", {query, key, value}, {{"scale", 1.0}}).operations, 2 * 2 * 3 * 25 * (4 + 6));
  EXPECT_EQ(work("DotProductAttention", {query, key, value}, {{"scale", 1.0}, {"is_causal", true}}).operations,
            2 * 2 * 3 * 15 * (4 + 6));
  const Specs operands{query, key, value};
  const Attributes scale{{"scale", 1.0}};
  EXPECT_EQ(work_of(OpCall(find_op("DotProductAttentionGrad"), scale, operands), operands).operations,
            2 * 2 * 3 * 25 * (3 * 4 + 2 * 6));
}

TEST(KernelWork, CountsTheRowsThatAreTaken) {
  const KernelWork rows = work("Gather", {{DType::Float32, {1000, 8}}, {DType::Int32, {5}}}, {{"axis", 0}});
  EXPECT_EQ(rows.bytes, 2 * 5 * 8 * 4 + 5 * 4);
}

TEST(KernelWork, CountsVariablesThatAnOpReadsAndWrites) {
  const TensorSpec variable{DType::Resource, {}};
  const KernelWork add =
      work("AssignAddVariable", {variable, {DType::Float32, {10}}}, {{"dtype", DType::Float32}, {"shape", Shape{10}}});
  EXPECT_EQ(add.bytes, 3 * 40);
  EXPECT_THAT(add.shapes, HasSubstr("float32(10,), float32(10,)"));
}

}  // namespace
}  // namespace cohort
