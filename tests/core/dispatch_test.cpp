#include "cohort/core/dispatch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "cohort/core/device_spec.h"
#include "cohort/core/kernel.h"

namespace cohort {
namespace {

// y = x * factor; its kernel notes the thread it runs on.
std::atomic<std::thread::id> kernel_thread;

KernelFn make_scale(const KernelSpec& spec) {
  const auto factor = spec.attr<float>("factor");
  const std::int64_t count = spec.input_size(0);
  return [=](const KernelIO& io) {
    kernel_thread = std::this_thread::get_id();
    for (std::int64_t i = 0; i < count; ++i) io.out<float>(0)[i] = io.in<float>(0)[i] * factor;
  };
}

// The positive elements: a shape only the kernel knows.
KernelFn make_positives(const KernelSpec& spec) {
  const std::int64_t count = spec.input_size(0);
  return [=](const KernelIO& io) {
    const float* x = io.in<float>(0);
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < count; ++i) kept += x[i] > 0;
    auto* y = static_cast<float*>(io.allocator->allocate(0, {kept}));
    for (std::int64_t i = 0; i < count; ++i) {
      if (x[i] > 0) *y++ = x[i];
    }
  };
}

KernelFn make_failing(const KernelSpec&) {
  return [](const KernelIO&) { throw invalid_argument("DispatchTestFail", "this kernel must not run"); };
}

COHORT_OP("DispatchTestScale").inputs(1).attr("factor", 2.0).infer([](const OpCall& call) {
  call.check(call.dtype(0) == DType::Float32, "a float32 input is expected", {{"dtype", call.dtype(0)}});
  return same_as(call.spec(0));
});
COHORT_OP("DispatchTestPositives").inputs(1).dynamic_outputs().infer([](const OpCall& call) {
  return Specs{{call.dtype(0), {kUnknown}}};
});
COHORT_OP("DispatchTestFail").inputs(0).checks().infer([](const OpCall&) { return Specs{{DType::Float32, {}}}; });
COHORT_OP("DispatchTestNoKernel").inputs(1).infer([](const OpCall& call) { return same_as(call.spec(0)); });
COHORT_KERNEL("DispatchTestScale", kCPU, make_scale);
COHORT_KERNEL("DispatchTestPositives", kCPU, make_positives);
COHORT_KERNEL("DispatchTestFail", kCPU, make_failing);

// Writes its letter into a log and passes the call on.
class Recorder : public Dispatcher {
 public:
  Recorder(char letter, std::string& log) : letter_(letter), log_(log) {}
  Tensors dispatch(const OpDef& op, const Tensors& inputs, const Attributes& attributes) override {
    log_ += letter_;
    return dispatch_below(op, inputs, attributes);
  }

 private:
  char letter_;
  std::string& log_;
};

std::string message_of(const std::function<void()>& action, ErrorCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "no error";
}

TEST(Dispatch, RunsAtOnceOnConcreteTensors) {
  const Tensor x = Tensor::of({1.0f, -2.0f, 3.0f}, {3});
  EXPECT_EQ(run_op("DispatchTestScale", {x}).to_vector<float>(), (std::vector<float>{2, -4, 6}));
  EXPECT_EQ(run_op("DispatchTestScale", {x}, {{"factor", 0.5}}).to_vector<float>(), (std::vector<float>{0.5, -1, 1.5}));
  EXPECT_EQ(&run_op("DispatchTestScale", {x}).device(), &default_device());
}

TEST(Dispatch, AKernelMayDecideItsOutputsShape) {
  const Tensor y = run_op("DispatchTestPositives", {Tensor::of({1.0f, -2.0f, 3.0f}, {3})});
  EXPECT_EQ(y.shape(), (Shape{2}));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1, 3}));
  EXPECT_EQ(run_op("DispatchTestPositives", {Tensor::of({-1.0f}, {1})}).shape(), (Shape{0}));
}

TEST(Dispatch, TheTestDeviceRunsKernelsOnAThreadOfItsOwn) {
  run_op("DispatchTestScale", {Tensor::scalar(1, DType::Float32, cpu())});
  EXPECT_EQ(kernel_thread.load(), std::this_thread::get_id());
  const Tensor y = run_op("DispatchTestScale", {Tensor::scalar(1, DType::Float32, device_named("TEST:0"))});
  EXPECT_EQ(y.device().name(), "TEST:0");
  EXPECT_EQ(y.item<float>(), 2.0f);
  EXPECT_NE(kernel_thread.load(), std::this_thread::get_id());
}

TEST(Dispatch, ADeviceScopeDecidesWhereAnOpRuns) {
  const Tensor x = Tensor::scalar(1, DType::Float32, cpu());
  auto scope = device("/device:TEST:1");
  EXPECT_EQ(run_op("DispatchTestScale", {x}).device().name(), "TEST:1");
}

TEST(Dispatch, StackedDispatchersAreAskedFromTheTop) {
  const Tensor x = Tensor::scalar(1);
  std::string log;
  Recorder a('a', log), b('b', log);
  EXPECT_EQ(top_dispatcher(), nullptr);
  {
    DispatcherScope outer(a);
    DispatcherScope inner(b);
    EXPECT_EQ(top_dispatcher(), &b);
    EXPECT_EQ(run_op("DispatchTestScale", {x}).item<float>(), 2.0f);
    inner.end();
    run_op("DispatchTestScale", {x});
    std::thread([&] { run_op("DispatchTestScale", {x}); }).join();  // another thread has a stack of its own
  }
  EXPECT_EQ(log, "baa");
  EXPECT_EQ(top_dispatcher(), nullptr);
}

TEST(Dispatch, ScopesEndInAnyOrder) {
  const Tensor x = Tensor::scalar(1);
  std::string log;
  Recorder a('a', log), b('b', log), c('c', log);
  DispatcherScope first(a), second(b), third(c);
  second.end();
  run_op("DispatchTestScale", {x});
  first.end();
  run_op("DispatchTestScale", {x});
  third.end();
  third.end();
  run_op("DispatchTestScale", {x});
  EXPECT_EQ(log, "cac");
}

TEST(Dispatch, ErrorsReachTheCallerAndLeaveTheDeviceUsable) {
  EXPECT_EQ(message_of([] { run_op("DispatchTestFail", {}); }, ErrorCode::InvalidArgument),
            "DispatchTestFail: this kernel must not run.");
  EXPECT_EQ(run_op("DispatchTestScale", {Tensor::scalar(1)}).item<float>(), 2.0f);
}

TEST(Dispatch, BadCallsSayWhatIsWrong) {
  const Tensor x = Tensor::scalar(1);
  EXPECT_NE(message_of([&] { run_op("NoSuchOp", {x}); }, ErrorCode::NotFound).find("NoSuchOp"), std::string::npos);
  EXPECT_NE(message_of(
                [&] {
                  run_op("DispatchTestScale", {x, x});
                },
                ErrorCode::InvalidArgument)
                .find("inputs=2"),
            std::string::npos);
  EXPECT_EQ(
      message_of([&] { run_op("DispatchTestScale", {Tensor::scalar(1, DType::Int32)}); }, ErrorCode::InvalidArgument),
      "DispatchTestScale: a float32 input is expected. Received: dtype=int32.");
  EXPECT_NE(message_of([&] { run_op("DispatchTestNoKernel", {x}); }, ErrorCode::Unimplemented).find("kernel"),
            std::string::npos);
  EXPECT_NE(message_of(
                [&] {
                  run_op("DispatchTestScale", {x}, {{"factor", "two"}});
                },
                ErrorCode::InvalidArgument)
                .find("factor"),
            std::string::npos);
  constexpr std::uint64_t trace = 1;
  const Tensor symbol = Tensor::symbolic({DType::Float32, {}}, {trace, 0, 0});
  EXPECT_NE(message_of([&] { run_op("DispatchTestScale", {symbol}); }, ErrorCode::FailedPrecondition).find("trace"),
            std::string::npos);
}

TEST(OpRegistry, KnowsOpsAndKernels) {
  EXPECT_EQ(find_op("DispatchTestScale").defaults().get<float>("factor"), 2.0f);
  EXPECT_TRUE(has_kernel("DispatchTestScale", kCPU));
  EXPECT_FALSE(has_kernel("DispatchTestNoKernel", kCPU));
  EXPECT_THROW(register_op("DispatchTestScale"), Error);
  bool listed = false;
  for (const OpDef* op : all_ops()) listed |= op->name() == "DispatchTestPositives";
  EXPECT_TRUE(listed);
}

}  // namespace
}  // namespace cohort
