#include "cohort/ops/recurrent.h"

#include <cmath>

#include "cohort/autodiff/tape.h"
#include "cohort/core/dispatch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/slicing.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;

const std::vector<DType> kRecurrentTypes = {float32, float64};
constexpr std::int64_t kBatch = 3, kSteps = 4, kUnits = 2;

Tensor some_steps_mask() { return tensor_of({1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1}, {kBatch, kSteps}, boolean); }

// The recurrence step by step, of ops that are tested elsewhere. step(x, states) gives the next states, h first.
using PlainStep = std::function<Tensors(const Tensor& x, const Tensors& states)>;
Tensors plain(const Tensor& inputs, Tensors states, const RecurrentOptions& options, const PlainStep& step) {
  const std::int64_t steps = inputs.shape()[1];
  Tensors sequence(static_cast<std::size_t>(steps));
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t t = options.reverse ? steps - 1 - i : i;
    Tensors next = step(take_at(inputs, t, 1), states);
    for (std::size_t k = 0; options.mask.defined() && k < next.size(); ++k) {
      next[k] = where(expand_dims(take_at(options.mask, t, 1), -1), next[k], states[k]);
    }
    states = next;
    sequence[static_cast<std::size_t>(t)] = states[0];
  }
  Tensors all = {stack(sequence, 1)};
  all.insert(all.end(), states.begin(), states.end());
  return all;
}
PlainStep lstm_step(const Tensor& kernel) {
  return [kernel](const Tensor& x, const Tensors& states) -> Tensors {
    const Tensors gates = split(x + matmul(states[0], kernel), 4, -1);
    const Tensor c = sigmoid(gates[1]) * states[1] + sigmoid(gates[0]) * tanh(gates[2]);
    return {sigmoid(gates[3]) * tanh(c), c};
  };
}
PlainStep gru_step(const Tensor& kernel, const Tensor& bias) {
  return [kernel, bias](const Tensor& x, const Tensors& states) -> Tensors {
    const Tensors from_x = split(x, 3, -1), from_h = split(matmul(states[0], kernel) + bias, 3, -1);
    const Tensor z = sigmoid(from_x[0] + from_h[0]), r = sigmoid(from_x[1] + from_h[1]);
    return {z * states[0] + (1.0 - z) * tanh(from_x[2] + r * from_h[2])};
  };
}
PlainStep simple_step(const Tensor& kernel) {
  return [kernel](const Tensor& x, const Tensors& states) -> Tensors { return {tanh(x + matmul(states[0], kernel))}; };
}

void expect_same_outputs(const Tensors& got, const Tensors& want, DType dtype) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    expect_tensor(got[i], dtype, want[i].shape(), want[i].to_vector<double>());
  }
}

std::vector<RecurrentOptions> all_recurrent_options() {
  return {{}, {.reverse = true}, {.mask = some_steps_mask()}, {.mask = some_steps_mask(), .reverse = true}};
}

COHORT_OP_REFERENCE(LstmSequence, steps_one_by_one, kRecurrentTypes) {
  // More rows than one block takes, and not a multiple of what the innermost loop takes.
  for (std::int64_t batch : {kBatch, std::int64_t{21}}) {
    const Tensor x = spread_tensor({batch, kSteps, 20}, -2, 2, dtype, 1),
                 kernel = spread_tensor({5, 20}, -1, 1, dtype, 2);
    const Tensor h = spread_tensor({batch, 5}, -1, 1, dtype, 3), c = spread_tensor({batch, 5}, -1, 1, dtype, 4);
    for (RecurrentOptions options : all_recurrent_options()) {
      if (options.mask.defined()) {
        options.mask = greater(spread_tensor({batch, kSteps}, -1, 1, dtype, 5), 0.0);
      }
      const LstmStates states = lstm(x, h, c, kernel, options);
      expect_same_outputs({states.h, states.last_h, states.last_c}, plain(x, {h, c}, options, lstm_step(kernel)),
                          dtype);
    }
  }
}
COHORT_OP_REFERENCE(GruSequence, steps_one_by_one, kRecurrentTypes) {
  const Tensor x = spread_tensor({kBatch, kSteps, 9}, -2, 2, dtype, 1), kernel = spread_tensor({3, 9}, -1, 1, dtype, 2);
  const Tensor h = spread_tensor({kBatch, 3}, -1, 1, dtype, 3), bias = spread_tensor({9}, -1, 1, dtype, 4);
  for (const RecurrentOptions& options : all_recurrent_options()) {
    const RecurrentStates states = gru(x, h, kernel, bias, options);
    expect_same_outputs({states.h, states.last}, plain(x, {h}, options, gru_step(kernel, bias)), dtype);
  }
}
COHORT_OP_REFERENCE(SimpleRnnSequence, steps_one_by_one, kRecurrentTypes) {
  const Tensor x = spread_tensor({kBatch, kSteps, 3}, -2, 2, dtype, 1), kernel = spread_tensor({3, 3}, -1, 1, dtype, 2);
  const Tensor h = spread_tensor({kBatch, 3}, -1, 1, dtype, 3);
  for (const RecurrentOptions& options : all_recurrent_options()) {
    const RecurrentStates states = simple_rnn(x, h, kernel, options);
    expect_same_outputs({states.h, states.last}, plain(x, {h}, options, simple_step(kernel)), dtype);
  }
}

// States are not rounded from step to step: as if all were float32, rounded once at the end.
TEST(Recurrences, OfHalfTypesAreRoundedOnce) {
  for (DType half : {float16, bfloat16}) {
    const auto rounded = [half](const Shape& shape, int seed) {
      return cast(spread_tensor(shape, -1, 1, float32, seed), half);
    };
    const Tensors given = {rounded({kBatch, kSteps, 8}, 1), rounded({kBatch, 2}, 2), rounded({kBatch, 2}, 3),
                           rounded({2, 8}, 4)};
    Tensors wide;
    for (const Tensor& x : given) wide.push_back(cast(x, float32));
    const LstmStates got = lstm(given[0], given[1], given[2], given[3]),
                     want = lstm(wide[0], wide[1], wide[2], wide[3]);
    EXPECT_EQ(got.h.dtype(), half);
    EXPECT_EQ(got.h.to_vector<double>(), cast(want.h, half).to_vector<double>());
    EXPECT_EQ(got.last_c.to_vector<double>(), cast(want.last_c, half).to_vector<double>());
  }
}

// All results in one tensor, so that the gradients of all of them flow.
Tensor joined_outputs(const Tensor& sequence, const Tensors& last) {
  Tensor all = sum(sequence * spread({kBatch, kSteps, kUnits}, 9), 1);
  for (std::size_t i = 0; i < last.size(); ++i) all = all + last[i] * (0.5 + static_cast<double>(i));
  return all;
}
const GradientCheckOptions kFirstOrder{.second_order = false};

COHORT_OP_GRADIENT(LstmSequence, all_inputs) {
  for (const RecurrentOptions& options : all_recurrent_options()) {
    check_gradient(
        [&](const Tensors& x) {
          const LstmStates states = lstm(x[0], x[1], x[2], x[3], options);
          return joined_outputs(states.h, {states.last_h, states.last_c});
        },
        {spread({kBatch, kSteps, 4 * kUnits}, 1), spread({kBatch, kUnits}, 2), spread({kBatch, kUnits}, 3),
         spread({kUnits, 4 * kUnits}, 4)},
        kFirstOrder);
  }
}
COHORT_OP_GRADIENT(GruSequence, all_inputs) {
  for (const RecurrentOptions& options : all_recurrent_options()) {
    check_gradient(
        [&](const Tensors& x) {
          const RecurrentStates states = gru(x[0], x[1], x[2], x[3], options);
          return joined_outputs(states.h, {states.last});
        },
        {spread({kBatch, kSteps, 3 * kUnits}, 1), spread({kBatch, kUnits}, 2), spread({kUnits, 3 * kUnits}, 3),
         spread({3 * kUnits}, 4)},
        kFirstOrder);
  }
}
COHORT_OP_GRADIENT(SimpleRnnSequence, all_inputs) {
  for (const RecurrentOptions& options : all_recurrent_options()) {
    check_gradient(
        [&](const Tensors& x) {
          const RecurrentStates states = simple_rnn(x[0], x[1], x[2], options);
          return joined_outputs(states.h, {states.last});
        },
        {spread({kBatch, kSteps, kUnits}, 1), spread({kBatch, kUnits}, 2), spread({kUnits, kUnits}, 3)}, kFirstOrder);
  }
}

// The gradients alone, through the tape: the recurrences above check their values.
template <class Call>
void expect_gradient_op(const Call& call, const Tensors& inputs, const char* op) {
  GradientTape outer;
  outer.watch(inputs[0]);
  Tensor gradient;
  {
    GradientTape tape;
    tape.watch(inputs[0]);
    gradient = tape.gradient(call(inputs), inputs[0]);
  }
  EXPECT_EQ(gradient.shape(), inputs[0].shape());
  // A wrong second derivative would be worse than none.
  expect_error([&] { outer.gradient(sum(gradient), inputs[0]); }, {op, "use_cudnn = false"});
}
const auto run_lstm = [](const Tensors& x) { return lstm(x[0], x[1], x[2], x[3]).last_h; };
const auto run_gru = [](const Tensors& x) { return gru(x[0], x[1], x[2], x[3]).last; };
const auto run_simple = [](const Tensors& x) { return simple_rnn(x[0], x[1], x[2]).last; };

COHORT_OP_GRADIENT(LstmSequenceGrad, is_refused) {
  expect_gradient_op(run_lstm, {spread({2, 3, 8}, 1), spread({2, 2}, 2), spread({2, 2}, 3), spread({2, 8}, 4)},
                     "LstmSequenceGrad");
}
COHORT_OP_GRADIENT(GruSequenceGrad, is_refused) {
  expect_gradient_op(run_gru, {spread({2, 3, 6}, 1), spread({2, 2}, 2), spread({2, 6}, 3), spread({6}, 4)},
                     "GruSequenceGrad");
}
COHORT_OP_GRADIENT(SimpleRnnSequenceGrad, is_refused) {
  expect_gradient_op(run_simple, {spread({2, 3, 2}, 1), spread({2, 2}, 2), spread({2, 2}, 3)}, "SimpleRnnSequenceGrad");
}

// Gradients in float32 against those in float64, which finite differences have checked.
template <class Call>
void expect_narrow_gradients(const Call& call, const Tensors& inputs, DType dtype) {
  const auto gradients = [&](DType type) {
    Tensors typed;
    GradientTape tape;
    for (const Tensor& input : inputs) {
      typed.push_back(tensor_of(input.to_vector<double>(), input.shape(), type));
      tape.watch(typed.back());
    }
    return tape.gradient(call(typed), typed);
  };
  const Gradients wide = gradients(float64), narrow = gradients(dtype);
  for (std::size_t i = 0; i < wide.size(); ++i) {
    expect_values(narrow[i].dense(), wide[i].dense().to_vector<double>(), 10 * tolerance(dtype));
  }
}
COHORT_OP_REFERENCE(LstmSequenceGrad, in_both_types, kRecurrentTypes) {
  expect_narrow_gradients(
      run_lstm, {spread({19, 3, 52}, 1), spread({19, 13}, 2), spread({19, 13}, 3), spread({13, 52}, 4)}, dtype);
}
COHORT_OP_REFERENCE(GruSequenceGrad, in_both_types, kRecurrentTypes) {
  expect_narrow_gradients(run_gru, {spread({19, 3, 39}, 1), spread({19, 13}, 2), spread({13, 39}, 3), spread({39}, 4)},
                          dtype);
}
COHORT_OP_REFERENCE(SimpleRnnSequenceGrad, in_both_types, kRecurrentTypes) {
  expect_narrow_gradients(run_simple, {spread({19, 3, 13}, 1), spread({19, 13}, 2), spread({13, 13}, 3)}, dtype);
}

TEST(RecurrencesGrad, in_both_types_with_every_option) {
  for (const RecurrentOptions& options : all_recurrent_options()) {
    expect_narrow_gradients(
        [&](const Tensors& x) {
          const LstmStates states = lstm(x[0], x[1], x[2], x[3], options);
          return joined_outputs(cast(states.h, float64), {cast(states.last_h, float64), cast(states.last_c, float64)});
        },
        {spread({kBatch, kSteps, 4 * kUnits}, 1), spread({kBatch, kUnits}, 2), spread({kBatch, kUnits}, 3),
         spread({kUnits, 4 * kUnits}, 4)},
        float32);
    expect_narrow_gradients(
        [&](const Tensors& x) {
          const RecurrentStates states = gru(x[0], x[1], x[2], x[3], options);
          return joined_outputs(cast(states.h, float64), {cast(states.last, float64)});
        },
        {spread({kBatch, kSteps, 3 * kUnits}, 1), spread({kBatch, kUnits}, 2), spread({kUnits, 3 * kUnits}, 3),
         spread({3 * kUnits}, 4)},
        float32);
  }
}

TEST(LstmSequence, bits_do_not_depend_on_threads) {
  const Tensors inputs = {spread_tensor({37, 5, 64}, -1, 1, float32, 1), spread_tensor({37, 16}, -1, 1, float32, 2),
                          spread_tensor({37, 16}, -1, 1, float32, 3), spread_tensor({16, 64}, -1, 1, float32, 4)};
  const int before = ThreadPool::instance().threads();
  std::vector<std::vector<float>> results;
  for (int threads : {1, 2, 4}) {
    ThreadPool::instance().set_threads(threads);
    GradientTape tape;
    for (const Tensor& input : inputs) tape.watch(input);
    const Tensor last = run_lstm(inputs);
    std::vector<float> bits = last.to_vector<float>();
    for (const Gradient& each : tape.gradient(last, inputs)) {
      const std::vector<float> more = each.dense().to_vector<float>();
      bits.insert(bits.end(), more.begin(), more.end());
    }
    results.push_back(std::move(bits));
  }
  ThreadPool::instance().set_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(LstmSequence, says_what_is_wrong) {
  const Tensor x = spread({2, 3, 8}, 1), state = spread({2, 2}, 2), kernel = spread({2, 8}, 3);
  expect_error([&] { lstm(spread({2, 8}, 1), state, state, kernel); }, {"LstmSequence:", "3 axes", "(2, 8)"});
  expect_error([&] { lstm(x, state, state, spread({2, 6}, 3)); }, {"recurrent_kernel must be (units, 4 * units)"});
  expect_error([&] { lstm(x, spread({2, 3}, 2), state, kernel); }, {"a state must be (batch, units)", "(2, 3)"});
  expect_error([&] { lstm(x, state, state, kernel, {.mask = spread({2, 3}, 4)}); }, {"mask", "booleans"});
}

}  // namespace
}  // namespace cohort::test
