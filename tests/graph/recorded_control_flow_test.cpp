#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "cohort/autodiff/control_flow.h"
#include "cohort/autodiff/tape.h"
#include "cohort/core/device_spec.h"
#include "cohort/graph/recorded_steps.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/math.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/slicing.h"
#include "cohort/variables/variable.h"
#include "tests/support/stream_device.h"

namespace cohort {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kParts = 3;

// A device whose kernels are begun one by one, as a GPU's are: the GPU itself where the tests run there.
Device& recorder() {
  test::register_stream_device();
  return default_device().type() == "GPU" ? default_device() : device_named("STREAM:6");
}

Variable variable_there(const Tensor& value, const std::string& name) {
  auto scope = device("/device:" + recorder().name());
  return Variable(value.to(recorder()), {.name = name});
}

// What a step adds to a variable of three numbers, from a batch of two.
using Change = std::function<Tensor(const Tensor& batch, const Variable& state)>;

// Such steps, recorded or not.
class Accumulated {
 public:
  explicit Accumulated(const Change& change, std::int64_t steps = 1) {
    state_ = variable_there(Tensor::full({kParts}, 0.5), "state");
    traced_ = trace(batch_, [&](const Tensors& batch) -> Tensors {
      state_.assign_add(change(batch[0], state_));
      return {};
    });
    Specs specs = batch_;
    for (const Tensor& capture : traced_.captures) specs.push_back(capture.spec());
    executable_ = compile(*traced_.graph, specs, recorder());
    recorded_ = RecordedSteps::make(executable_, recorder(), batch_, traced_.captures, steps);
  }
  void add(const Tensor& batch, const RandomState& random) { recorded_->add({&batch, 1}, random); }
  void run(const Tensor& batch, const RandomState& random) {
    Tensors inputs{batch.to(recorder())};
    for (const Tensor& capture : traced_.captures) inputs.push_back(capture);
    executable_->run(inputs, {}, random);
  }
  std::vector<float> state() const { return read_now(state_).to_vector<float>(); }
  RecordedSteps* recorded() { return recorded_.get(); }

 private:
  const Specs batch_{{DType::Float32, {2}}};
  Variable state_;
  TracedGraph traced_;
  std::shared_ptr<Executable> executable_;
  std::unique_ptr<RecordedSteps> recorded_;
};

// That recorded steps leave the bits that others do after each of the batches, and that these differ from one another.
void expect_same_bits(const Change& change, const std::vector<std::pair<float, float>>& batches) {
  Accumulated recorded(change), waiting(change);
  ASSERT_NE(recorded.recorded(), nullptr);
  std::vector<float> before = recorded.state();
  std::uint64_t step = 0;
  for (const auto& [first, second] : batches) {
    const Tensor batch = Tensor::of({first, second}, {2}, cpu());
    const RandomState random{.seed = 5, .step = step++};
    recorded.add(batch, random);
    waiting.run(batch, random);
    const std::vector<float> after = recorded.state();
    EXPECT_EQ(after, waiting.state()) << first << ", " << second;
    EXPECT_NE(after, before) << first << ", " << second;
    before = after;
  }
  EXPECT_EQ(recorded.recorded()->recordings(), 2);  // of its two blocks; others were launches of the same ones
}

Tensor first_of(const Tensor& batch) { return ops::take_at(batch, 0); }
Tensor second_of(const Tensor& batch) { return ops::take_at(batch, 1); }

Tensor either(const Tensor& predicate, const std::function<Tensor()>& yes, const std::function<Tensor()>& no) {
  return ops::cond(
      predicate, [&] { return Tensors{yes()}; }, [&] { return Tensors{no()}; })[0];
}

// Adds what `change` gives for x to it as often as `times` says.
Tensor repeated(const Tensor& times, const Tensor& x, const std::function<Tensor(const Tensor&)>& change,
                std::int64_t limit = -1) {
  return ops::while_loop([&](const Tensors& now) { return now[0] < times; },
                         [&](const Tensors& now) {
                           return Tensors{now[0] + 1.0, now[1] + change(now[1])};
                         },
                         {Tensor::scalar(0), x}, {.maximum_iterations = limit})[1];
}

const std::vector<std::pair<float, float>> kBothWays{{1, 2}, {-1, 2}, {-1, -2}, {3, -1}, {1, 1}, {-2, 1}};
const std::vector<std::pair<float, float>> kManyTurns{{1, 2}, {4, 1}, {0, 3}, {7, -1}, {2, -4}, {0, 1}};

TEST(RecordedControlFlow, TakesEitherBranch) {
  expect_same_bits(
      [](const Tensor& batch, const Variable& state) {
        return either(
            first_of(batch) > 0.0, [&] { return ops::tanh(state.value()) * second_of(batch); },
            [&] { return state.value() * 0.25 + 1.0; });
      },
      kBothWays);
}

TEST(RecordedControlFlow, TakesBranchesOfBranches) {
  expect_same_bits(
      [](const Tensor& batch, const Variable& state) {
        return either(
            first_of(batch) > 0.0,
            [&] {
              return either(
                  second_of(batch) > 0.0, [&] { return state.value() * 2.0; }, [&] { return state.value() - 3.0; });
            },
            [&] { return Tensor::full({kParts}, 1.5); });
      },
      kBothWays);
}

TEST(RecordedControlFlow, WritesVariablesInOneBranch) {
  Variable count = variable_there(Tensor::scalar(0), "count");
  Accumulated steps([&](const Tensor& batch, const Variable&) {
    return either(
        first_of(batch) > 0.0,
        [&] {
          count.assign_add(second_of(batch));
          return Tensor::full({kParts}, 1);
        },
        [&] { return Tensor::full({kParts}, 0); });
  });
  ASSERT_NE(steps.recorded(), nullptr);
  for (float first : {1.0f, -1.0f, 2.0f, -1.0f, 1.0f}) steps.add(Tensor::of({first, 10.0f}, {2}, cpu()), {});
  EXPECT_EQ(read_now(count).item<float>(), 30);
  EXPECT_THAT(steps.state(), ElementsAre(3.5f, 3.5f, 3.5f));
  EXPECT_EQ(steps.recorded()->recordings(), 2);
}

TEST(RecordedControlFlow, RepeatsAsOftenAsTheConditionWants) {
  expect_same_bits(
      [](const Tensor& batch, const Variable& state) {
        return repeated(first_of(batch), state.value(), [](const Tensor& x) { return ops::sin(x); }) + second_of(batch);
      },
      kManyTurns);
}

TEST(RecordedControlFlow, RepeatsNoMoreOftenThanTheLimit) {
  for (std::int64_t limit : {0, 1, 3}) {
    expect_same_bits(
        [&](const Tensor& batch, const Variable& state) {
          return repeated(
                     first_of(batch), state.value(), [](const Tensor& x) { return ops::sin(x); }, limit) +
                 second_of(batch);
        },
        kManyTurns);
  }
}

TEST(RecordedControlFlow, DoesNotAskForATurnBeyondTheLimit) {
  // The condition has no number for a fourth.
  auto looked_up = [](const Tensor& batch, const Variable& state) {
    const Tensor going = Tensor::of({1.0f, 1.0f, 1.0f}, {kParts}, cpu());
    return ops::while_loop([&](const Tensors& now) { return ops::gather(going, now[0]) > 0.0; },
                           [&](const Tensors& now) {
                             return Tensors{now[0] + Tensor::scalar(1, DType::Int32), now[1] + second_of(batch)};
                           },
                           {Tensor::scalar(0, DType::Int32), state.value()}, {.maximum_iterations = kParts})[1];
  };
  expect_same_bits(looked_up, kManyTurns);
}

TEST(RecordedControlFlow, RepeatsLoopsAndBranchesInLoops) {
  expect_same_bits(
      [](const Tensor& batch, const Variable& state) {
        auto step = [&](const Tensor& x) {
          return either(
              ops::sum(x) > 2.0, [&] { return x * -0.5; },
              [&] {
                return repeated(second_of(batch) + 2.0, x, [](const Tensor& y) { return ops::cos(y); }) * 0.5 + 0.1;
              });
        };
        return repeated(first_of(batch) + 1.0, state.value(), step);
      },
      kManyTurns);
}

TEST(RecordedControlFlow, RepeatsInsideAScan) {
  expect_same_bits(
      [](const Tensor& batch, const Variable& state) {
        return ops::scan(
                   [&](const Tensors& carry, const Tensors&) {
                     const Tensor noise = ops::random_uniform({kParts}, 0, 1, DType::Float32, 11);
                     return Tensors{repeated(first_of(batch), carry[0] + noise, [](const Tensor& x) {
                       return x * 0.125 + ops::random_uniform({kParts}, 0, 1, DType::Float32, 3);
                     })};
                   },
                   {state.value()}, {}, {.length = 4})
            .carries[0];
      },
      kManyTurns);
}

TEST(RecordedControlFlow, DrawsOtherNumbersInEachTurn) {
  const Change noisy = [](const Tensor& batch, const Variable& state) {
    return either(
        first_of(batch) > 0.0,
        [&] {
          return repeated(first_of(batch), state.value() * 0.0,
                          [](const Tensor&) { return ops::random_uniform({kParts}, 0, 1, DType::Float32, 3); });
        },
        [&] { return ops::random_uniform({kParts}, 0, 1, DType::Float32, 9); });
  };
  expect_same_bits(noisy, kManyTurns);
  // Turns that drew the same would be so many times the first.
  Accumulated one(noisy), two(noisy);
  one.add(Tensor::of({1.0f, 0.0f}, {2}, cpu()), {.seed = 5});
  two.add(Tensor::of({2.0f, 0.0f}, {2}, cpu()), {.seed = 5});
  EXPECT_NE(two.state()[0] - 0.5f, 2 * (one.state()[0] - 0.5f));
}

TEST(RecordedControlFlow, HasGradients) {
  auto slope = [](const Tensor& batch, const Tensor& at, auto&& f) {
    GradientTape tape;
    tape.watch(at);
    return tape.gradient(ops::sum(f(batch, at)), at);
  };
  expect_same_bits(
      [&](const Tensor& batch, const Variable& state) {
        return slope(batch, state.value(), [](const Tensor& batch, const Tensor& x) {
          return either(
              first_of(batch) > 0.0, [&] { return ops::exp(x * 0.1) * second_of(batch); }, [&] { return x * x + x; });
        });
      },
      kBothWays);
  expect_same_bits(
      [&](const Tensor& batch, const Variable& state) {
        return slope(batch, state.value(), [](const Tensor& batch, const Tensor& x) {
          return repeated(
              first_of(batch), x, [](const Tensor& y) { return ops::tanh(y) * 0.5; }, 5);
        });
      },
      kManyTurns);
}

TEST(RecordedControlFlow, PutsSeveralStepsIntoALaunch) {
  const Change change = [](const Tensor& batch, const Variable& state) {
    return either(
        first_of(batch) > 0.0,
        [&] { return repeated(first_of(batch), state.value(), [](const Tensor& x) { return ops::sin(x); }); },
        [&] { return state.value() * 0.5; });
  };
  Accumulated four(change, 4), one(change);
  ASSERT_EQ(four.recorded()->steps_per_launch(), 4);
  for (int i = 0; i < 18; ++i) {
    const Tensor batch = Tensor::of({static_cast<float>(i % 5) - 1, 0.0f}, {2}, cpu());
    four.add(batch, {});
    one.add(batch, {});
  }
  four.recorded()->flush();
  EXPECT_EQ(four.state(), one.state());
}

TEST(RecordedControlFlow, FindsBadValuesOnlyInTheBranchItTakes) {
  Accumulated steps([](const Tensor& batch, const Variable& state) {
    const Tensor before = state.value();
    return either(
        first_of(batch) > 0.0,
        [&] { return before * 0.0 + ops::gather(before, ops::cast(second_of(batch), DType::Int32)); },
        [&] { return before; });
  });
  ASSERT_NE(steps.recorded(), nullptr);
  auto step = [&](float first, float second) { steps.add(Tensor::of({first, second}, {2}, cpu()), {}); };
  step(-1, kParts);
  step(-1, kParts);
  step(1, kParts - 1);
  EXPECT_THAT(steps.state(), ElementsAre(4, 4, 4));
  step(1, kParts);
  EXPECT_THROW(steps.state(), Error);
  EXPECT_EQ(steps.recorded()->recordings(), 2);
}

TEST(RecordedControlFlow, IsNotSpoiltByThoseWhoWait) {
  const Tensor watched = Tensor::scalar(2, DType::Float32, recorder());
  std::atomic<bool> done = false;
  std::atomic<int> looks = 0;
  std::thread waits([&] {
    while (!done) {
      recorder().drain();
      if (watched.item<float>() == 2) ++looks;
    }
  });
  auto twice_or_not = [](const Tensor& batch, const Variable& state) {
    return either(
        first_of(batch) > 0.0, [&] { return state.value(); }, [&] { return state.value() * 0.0; });
  };
  for (int i = 0; i < 10; ++i) {
    Accumulated steps(twice_or_not);
    for (float first : {1.0f, -1.0f, 1.0f}) steps.add(Tensor::of({first, 0.0f}, {2}, cpu()), {});
    EXPECT_THAT(steps.state(), ElementsAre(2, 2, 2));
  }
  while (looks < 3) std::this_thread::yield();
  done = true;
  waits.join();
}

TEST(RecordedControlFlow, RunsUnrecordedWhatCannotBeRecorded) {
  // Branches of a branch with results of other shapes: its graph asks for memory when it runs.
  const Change change = [](const Tensor& batch, const Variable& state) {
    const Tensor before = state.value();
    return either(
        first_of(batch) > 0.0,
        [&] {
          return ops::sum(either(
                     second_of(batch) > 0.0, [&] { return Tensor::full({5}, 1); },
                     [&] { return Tensor::full({2}, 1); })) +
                 before * 0.0;
        },
        [&] { return before; });
  };
  Accumulated steps(change);
  ASSERT_NE(steps.recorded(), nullptr);
  steps.add(Tensor::of({1.0f, 1.0f}, {2}, cpu()), {});
  steps.add(Tensor::of({1.0f, -1.0f}, {2}, cpu()), {});
  EXPECT_EQ(steps.state()[0], 7.5f);
  steps.add(Tensor::of({-1.0f, 0.0f}, {2}, cpu()), {});
  EXPECT_EQ(steps.state()[0], 15.0f);
  EXPECT_EQ(steps.recorded()->recordings(), 0);
}

}  // namespace
}  // namespace cohort
