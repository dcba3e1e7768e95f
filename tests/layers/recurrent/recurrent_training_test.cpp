// Whole trainings with recurrent layers.
#include <gtest/gtest.h>

#include "cohort/core/random.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/core/masking.h"
#include "cohort/layers/recurrent/bidirectional.h"
#include "cohort/layers/recurrent/gru.h"
#include "cohort/layers/recurrent/lstm.h"
#include "cohort/layers/recurrent/rnn.h"
#include "cohort/layers/recurrent/simple_rnn.h"
#include "cohort/model/model.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/layers/warm_steps.h"
#include "tests/support/allocations.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

Dataset sequences(std::int64_t count, std::int64_t batch) {
  return Dataset::make("tensor_slices", {},
                       {{"structure", "(**)"},
                        {"tensor_0", test::spread_tensor({count, 5, 3}, -1, 1, float32).to_host()},
                        {"tensor_1", test::spread_tensor({count, 1}, -1, 1, float32, 2).to_host()}})
      .batch(batch);
}

// Steps as one op, steps in a scan with masks, and steps of a stack in a scan.
std::vector<Ref<Layer>> kinds() {
  return {LSTM(6), GRU(6, {.recurrent_dropout = 0.3, .use_cudnn = false}), RNN({LSTMCell(4), GRUCell(3)}),
          Bidirectional(SimpleRNN(4, {.return_state = false}))};
}

TEST(RecurrentTraining, AWarmStepAllocatesNothing) {
  if (!test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  for (const Ref<Layer>& layer : kinds()) {
    SCOPED_TRACE(layer->class_name());
    Sequential model({Masking(), layer, Dense(1)});
    expect_no_allocations_in_warm_steps(model, sequences(64, 8));
  }
}

TEST(RecurrentTraining, LearnsInEveryPrecision) {
  for (const char* policy : {"float32", "mixed_bfloat16", "float64"}) {
    SCOPED_TRACE(policy);
    set_random_seed(4);
    Sequential model({LSTM(16, {.return_sequences = true, .dtype = policy}), GRU(16, {.dtype = policy}), Dense(1)});
    model.compile({.optimizer = optimizers::Adam(1e-2), .loss = "mse"});
    const History history = model.fit(sequences(32, 8), {.epochs = 60, .verbose = 0});
    EXPECT_LT(history["loss"].back(), 0.25 * history["loss"].front());
  }
}

// The state of a stateful layer is a variable that the steps of fit write.
TEST(RecurrentTraining, FitCarriesTheStateFromBatchToBatch) {
  const SymbolicTensor x = Input({5, 3}, {.batch_size = 8});
  const SimpleRNN layer(4, {.stateful = true});
  Model model(x, Dense(1)(layer(x)));
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse", .steps_per_execution = 2});
  ASSERT_EQ(layer->states().size(), 1u);
  EXPECT_EQ(model.weights().size(), 5u);  // a state is no weight
  model.fit(sequences(32, 8), {.epochs = 1, .verbose = 0});
  const std::vector<float> after = read_now(layer->states()[0]).to_vector<float>();
  // The same by hand, from the same weights.
  const SimpleRNN by_hand(4, {.stateful = true});
  by_hand->ensure_built({{8, 5, 3}});
  by_hand->set_weights(layer->get_weights());
  const Tensor all = test::spread_tensor({32, 5, 3}, -1, 1, float32);
  for (std::int64_t batch = 0; batch < 4; ++batch) by_hand(all.rows(batch * 8, 8));
  test::expect_values(read_now(by_hand->states()[0]), std::vector<double>(after.begin(), after.end()), 1e-6);
  layer->reset_state();
  test::expect_values(read_now(layer->states()[0]), std::vector<double>(32, 0.0), 0);
}

TEST(RecurrentTraining, MixedPrecisionComputesInBfloat16) {
  const LSTM mixed(4, {.return_state = true, .stateful = true, .dtype = "mixed_bfloat16"}), plain(4);
  const Tensor x = test::spread_tensor({2, 3, 5}, -1, 1, float32);
  mixed->ensure_built({x.shape()});
  plain->ensure_built({x.shape()});
  plain->set_weights(mixed->get_weights());
  const RnnOutput<Tensor> result = mixed.with_states(x);
  EXPECT_EQ(result.output.dtype(), bfloat16);
  EXPECT_EQ(result.states.at(1).dtype(), bfloat16);
  EXPECT_EQ(mixed->weights().at(0).dtype(), float32);
  test::expect_values(result.output, plain(x).to_vector<double>(), 2e-2);
}

}  // namespace
}  // namespace cohort::layers
