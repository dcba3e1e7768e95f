#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <future>

#include "cohort/core/kernel.h"
#include "cohort/core/tensor.h"
#include "tests/support/error_of.h"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Device& there() { return device_named("TEST:7"); }

// A launch of a function over one input and one output.
struct Launch {
  explicit Launch(KernelFn function, const Tensor& x, const Tensor& y)
      : kernel(std::move(function)), arguments{x.raw(), y.raw()} {}
  KernelCall call() { return {&kernel, arguments, 1, 1}; }
  void run(const RandomState* random = nullptr) {
    const KernelCall one = call();
    there().run({&one, 1}, random, nullptr);
  }
  KernelFn kernel;
  void* arguments[2];
};

KernelFn plus_one() {
  return [](const KernelIO& io) { *io.out<float>(0) = *io.in<float>(0) + 1; };
}

// Work that holds the compute stream up until it is released.
class Gate {
 public:
  Gate() : launch_([this](const KernelIO&) { opened_.get_future().wait(); }, place_, place_) { launch_.run(); }
  ~Gate() {
    open();
    there().drain();
  }
  void open() {
    if (!std::exchange(open_, true)) opened_.set_value();
  }

 private:
  Tensor place_ = Tensor::scalar(0.0f, DType::Float32, there());
  std::promise<void> opened_;
  bool open_ = false;
  Launch launch_;
};

TEST(AsynchronousDevice, ReturnsBeforeTheWorkIsDone) {
  const Tensor x = Tensor::scalar(1, DType::Float32, there());
  std::atomic<bool> done = false;
  Gate gate;
  Launch launch([&](const KernelIO&) { done = true; }, x, x);
  launch.run();
  EXPECT_FALSE(done);
  gate.open();
  there().synchronize();
  EXPECT_TRUE(done);
}

TEST(AsynchronousDevice, ReadsArgumentsBeforeItReturns) {
  const Tensor x = Tensor::scalar(1, DType::Float32, there()), y = Tensor::scalar(0, DType::Float32, there());
  Gate gate;
  Launch launch(plus_one(), x, y);
  launch.run();
  launch.arguments[1] = nullptr;
  gate.open();
  EXPECT_EQ(y.item<float>(), 2);
  there().drain();
}

TEST(AsynchronousDevice, CopiesFromTheHostInOrder) {
  const Tensor x = Tensor::scalar(1, DType::Float32, there()), y = Tensor::scalar(0, DType::Float32, there());
  Launch launch(plus_one(), x, y);
  Gate gate;
  launch.run();
  float number = 10;
  there().copy_from_host(x.raw(), &number, sizeof number);
  number = 20;  // may change at once
  Launch again(plus_one(), x, x);
  again.run();
  gate.open();
  EXPECT_EQ(y.item<float>(), 2);
  EXPECT_EQ(x.item<float>(), 11);
}

TEST(AsynchronousDevice, KeepsFreedMemoryUntilTheWorkBeforeIsDone) {
  const Tensor y = Tensor::scalar(0, DType::Float32, there());
  Tensor x = Tensor::scalar(1, DType::Float32, there());
  Launch launch(plus_one(), x, y);
  void* freed = x.raw();
  {
    Gate gate;
    launch.run();
    x = Tensor();
  }
  // Whoever looks later finds poison.
  float found = 0;
  there().copy_to_host(&found, freed, sizeof found);
  EXPECT_TRUE(std::isnan(found));
  EXPECT_EQ(y.item<float>(), 2);
}

TEST(AsynchronousDevice, CopiesAndFillsWithinIt) {
  const Tensor x = Tensor::of({1.0f, 2.0f, 3.0f}, {3}, there());
  EXPECT_THAT(x.clone().to_vector<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(Tensor::full({3}, 2, DType::Float64, there()).to_vector<double>(), ElementsAre(2, 2, 2));
  EXPECT_THAT(Tensor::full({2}, -3, DType::Int8, there()).to_vector<std::int32_t>(), ElementsAre(-3, -3));
  EXPECT_THAT(Tensor::full({2}, 0.5, DType::BFloat16, there()).to_vector<float>(), ElementsAre(0.5, 0.5));
}

TEST(AsynchronousDevice, RunsCopiesBesideKernels) {
  const Tensor x = Tensor::scalar(0, DType::Float32, there());
  there().synchronize();
  auto* pinned = static_cast<float*>(there().allocate_pinned(sizeof(float)));
  *pinned = 5;
  auto copied = there().make_event();
  copied->wait();  // nothing to wait for
  Gate gate;
  there().enqueue_copy(x.raw(), pinned, sizeof(float), DeviceStream::Copy);
  copied->record(DeviceStream::Copy);
  copied->wait();  // though the compute stream stands still
  *pinned = 0;
  there().enqueue_copy(pinned, x.raw(), sizeof(float), DeviceStream::Copy);
  copied->record(DeviceStream::Copy);
  copied->wait();
  EXPECT_EQ(*pinned, 5);
  gate.open();
  there().deallocate_pinned(pinned, sizeof(float));
}

TEST(AsynchronousDevice, LetsOneStreamWaitForTheOther) {
  const Tensor x = Tensor::scalar(1, DType::Float32, there()), y = Tensor::scalar(0, DType::Float32, there());
  auto* pinned = static_cast<float*>(there().allocate_pinned(2 * sizeof(float)));
  Launch launch(plus_one(), x, y);
  auto computed = there().make_event(), copied = there().make_event();
  {
    Gate gate;
    launch.run();
    computed->record(DeviceStream::Compute);
    computed->delay(DeviceStream::Copy);
    there().enqueue_copy(pinned, y.raw(), sizeof(float), DeviceStream::Copy);
    copied->record(DeviceStream::Copy);
    copied->delay(DeviceStream::Compute);
    Launch overwrites(plus_one(), y, y);
    overwrites.run();
    there().enqueue_copy(pinned + 1, y.raw(), sizeof(float), DeviceStream::Compute);
    gate.open();
    there().synchronize();
  }
  EXPECT_EQ(pinned[0], 2);
  EXPECT_EQ(pinned[1], 3);
  there().deallocate_pinned(pinned, 2 * sizeof(float));
}

TEST(AsynchronousDevice, ErrorsComeWithTheNextWaitAndOnce) {
  const Tensor x = Tensor::scalar(1, DType::Float32, there()), y = Tensor::scalar(0, DType::Float32, there());
  Launch fails([](const KernelIO&) { throw invalid_argument("Op", "a better value"); }, x, y), works(plus_one(), x, y);
  const std::string node = "dense/MatMul";
  KernelCall call = fails.call();
  call.node = &node;
  there().run({&call, 1}, nullptr, nullptr);
  works.run();
  there().drain();  // keeps it
  EXPECT_THAT(test::error_of([&] { y.item<float>(); }), HasSubstr("dense/MatMul: Op: a better value"));
  EXPECT_EQ(y.item<float>(), 2);  // what came later was done
  there().run({&call, 1}, nullptr, nullptr);
  EXPECT_THROW(there().synchronize(), Error);
  there().synchronize();
}

TEST(AsynchronousDevice, ReplaysWhatItRecorded) {
  const Tensor x = Tensor::scalar(1, DType::Float32, there());
  Launch launch(plus_one(), x, x);
  const float three = 3;
  auto recording = there().record([&] {
    there().fill(x.raw(), &three, sizeof three, 1);
    launch.run();
    launch.run();
  });
  EXPECT_EQ(x.item<float>(), 1);  // nothing was done
  for (int i = 0; i < 3; ++i) {
    recording->launch();
    EXPECT_EQ(x.item<float>(), 5);
  }
  EXPECT_TRUE(recording->is_valid());
  EXPECT_FALSE(cpu().can_record());
  EXPECT_THROW(cpu().record([] {}), Error);
}

TEST(AsynchronousDevice, RecordsNothingThatMustNotBeRepeated) {
  const Tensor x = Tensor::scalar(1, DType::Float32, there());
  EXPECT_THROW(there().record([&] { x.item<float>(); }), Error);
  EXPECT_EQ(x.item<float>(), 1);  // and goes on as before
}

TEST(AsynchronousDevice, DecidesAboutBranchesWhenTheyAreLaunched) {
  const Tensor x = Tensor::scalar(1, DType::Float32, there()), choice = Tensor::scalar(1, DType::Bool, there());
  const float ten = 10;
  Launch more(plus_one(), x, x);
  const auto* predicate = static_cast<const bool*>(choice.raw());
  auto add = [&] { more.run(); };
  auto set = [&] { there().fill(x.raw(), &ten, sizeof ten, 1); };
  auto recording = there().record([&] {
    EXPECT_TRUE(there().is_recording());
    there().record_branch(predicate, add, set);
  });
  EXPECT_FALSE(there().is_recording());
  EXPECT_EQ(x.item<float>(), 1);  // nothing was done
  std::vector<float> seen;
  for (bool taken : {true, true, false, true}) {
    there().copy_from_host(choice.raw(), &taken, sizeof taken);
    recording->launch();
    seen.push_back(x.item<float>());
  }
  EXPECT_THAT(seen, ElementsAre(2, 3, 10, 11));
  EXPECT_THROW(there().record_branch(predicate, add, set), Error);  // outside of a recording
  EXPECT_THROW(cpu().record_branch(predicate, add, set), Error);
}

TEST(AsynchronousDevice, EndsLoopsWhenTheyAreLaunched) {
  const Tensor x = Tensor::scalar(0, DType::Float32, there()), end = Tensor::scalar(0, DType::Float32, there());
  const Tensor memory = Tensor::empty(DType::UInt8, {sizeof(LoopState)}, there());
  auto* state = static_cast<LoopState*>(memory.raw());
  Launch more(plus_one(), x, x), ask([](const KernelIO&io) { *io.out<bool>(0) = *io.in<float>(0) > 0; }, end, end);
  Launch less([](const KernelIO& io) { *io.out<float>(0) -= 1; }, end, end);
  ask.arguments[1] = &state->go_on;
  RecordedLoop loop{.state = state,
                    .limit = 3,
                    .condition = [&] { ask.run(); },
                    .turn =
                        [&] {
                          more.run();
                          less.run();
                        }};
  auto bounded = there().record([&] { there().record_loop(loop); });
  loop.limit = -1;
  auto unbounded = there().record([&] { there().record_loop(loop); });
  auto turns_of = [&](Recording& recording, float wanted) {
    const float before = x.item<float>();
    there().copy_from_host(end.raw(), &wanted, sizeof wanted);
    recording.launch();
    return x.item<float>() - before;
  };
  for (float wanted : {2.0f, 0.0f, 1.0f, 7.0f}) {
    EXPECT_EQ(turns_of(*unbounded, wanted), wanted);
    EXPECT_EQ(turns_of(*bounded, wanted), std::min(wanted, 3.0f));
  }
  EXPECT_THROW(there().record_loop(loop), Error);  // outside of a recording
  EXPECT_THROW(cpu().record_loop(loop), Error);
}

TEST(AsynchronousDevice, DerivesTurnsInItsOwnMemory) {
  const Tensor states = Tensor::empty(DType::UInt8, {4, sizeof(RandomState)}, there());
  const RandomState loop{.seed = 3, .step = 8};
  auto* memory = static_cast<RandomState*>(states.raw());
  there().copy_from_host(memory, &loop, sizeof loop);
  there().derive_turns(memory + 1, memory, 3);
  RandomState found[4];
  there().copy_to_host(found, memory, sizeof found);
  for (std::uint64_t turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(found[turn + 1].seed, turn_of(loop, turn).seed);
    EXPECT_EQ(found[turn + 1].step, 8);
  }
}

TEST(AsynchronousDevice, ReadsTheRandomStateWhenTheKernelRuns) {
  const Tensor x = Tensor::scalar(0, DType::Float32, there());
  const Tensor state = Tensor::empty(DType::UInt8, {sizeof(RandomState)}, there());
  Launch launch([](const KernelIO& io) { *io.out<float>(0) = static_cast<float>(io.random->step); }, x, x);
  auto recording = there().record([&] { launch.run(static_cast<const RandomState*>(state.raw())); });
  for (std::uint64_t step : {4, 9}) {
    const RandomState random{.step = step};
    there().copy_from_host(state.raw(), &random, sizeof random);
    recording->launch();
    EXPECT_EQ(x.item<float>(), static_cast<float>(step));
  }
}

TEST(SynchronousDevice, HasDoneItsWorkAtOnce) {
  auto event = cpu().make_event();
  event->record(DeviceStream::Copy);
  event->delay(DeviceStream::Compute);
  event->wait();
  float from = 2, to = 0;
  cpu().enqueue_copy(&to, &from, sizeof from, DeviceStream::Copy);
  EXPECT_EQ(to, 2);
  cpu().synchronize();
}

}  // namespace
}  // namespace cohort
