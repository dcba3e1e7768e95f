#include <gtest/gtest.h>

#include "cohort/autodiff/tape.h"
#include "cohort/graph/function.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/recurrent/bidirectional.h"
#include "cohort/layers/recurrent/conv_lstm.h"
#include "cohort/layers/recurrent/gru.h"
#include "cohort/layers/recurrent/lstm.h"
#include "cohort/layers/recurrent/rnn.h"
#include "cohort/layers/recurrent/simple_rnn.h"
#include "cohort/layers/recurrent/stacked_rnn_cells.h"
#include "cohort/layers/recurrent/time_distributed.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/reduce.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

using test::expect_error;

Tensor sequence_floats(const Shape& shape, unsigned seed = 1) {
  return test::spread_tensor(shape, -1, 1, float32, seed);
}
Tensor some_mask() { return test::tensor_of({1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1}, {3, 4}, boolean); }

// Outputs and gradients of a layer over (3, 4, 5), of its inputs and weights.
template <class Handle>
std::vector<Tensor> results(const Handle& layer, const RnnCallOptions& options) {
  const Tensor x = sequence_floats({3, 4, 5});
  GradientTape tape;
  tape.watch(x);
  const RnnOutput<Tensor> result = layer.with_states(x, options);
  Tensor loss = ops::sum(ops::square(result.output + 0.5));
  for (const Tensor& state : result.states) loss = loss + ops::sum(ops::square(state - 0.25));
  Tensors sources = {x}, all = {result.output};
  for (const Variable& weight : layer->trainable_variables()) sources.push_back(weight.handle());
  for (const Gradient& gradient : tape.gradient(loss, sources)) all.push_back(gradient.dense());
  return all;
}

// A layer whose steps are one op and one whose steps are ops of their own.
template <class Handle, class Options>
void expect_same_by_op_and_by_steps(const Options& options) {
  Options by_op = options, by_steps = options;
  if constexpr (requires { by_steps.use_cudnn; }) {
    by_steps.use_cudnn = false;
  } else {
    by_steps.unroll = true;
  }
  const Handle fused(6, by_op), plain(6, by_steps);
  fused->ensure_built({{3, 4, 5}});
  plain->ensure_built({{3, 4, 5}});
  plain->set_weights(fused->get_weights());
  for (const Tensor& mask : {Tensor(), some_mask()}) {
    const auto a = results(fused, {.mask = mask}), b = results(plain, {.mask = mask});
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      SCOPED_TRACE(i);
      test::expect_values(a[i], b[i].template to_vector<double>(), 1e-5);
    }
  }
}

TEST(Recurrent, OneOpAndSingleStepsGiveTheSameNumbers) {
  for (bool backwards : {false, true}) {
    for (bool sequences : {false, true}) {
      for (bool zeros : {false, true}) {
        SCOPED_TRACE(testing::Message() << backwards << sequences << zeros);
        expect_same_by_op_and_by_steps<LSTM>(LSTMOptions{.return_sequences = sequences,
                                                         .return_state = !zeros,
                                                         .go_backwards = backwards,
                                                         .zero_output_for_mask = zeros});
        expect_same_by_op_and_by_steps<GRU>(GRUOptions{.return_sequences = sequences,
                                                       .return_state = !zeros,
                                                       .go_backwards = backwards,
                                                       .zero_output_for_mask = zeros});
        expect_same_by_op_and_by_steps<SimpleRNN>(SimpleRNNOptions{.return_sequences = sequences,
                                                                   .return_state = !zeros,
                                                                   .go_backwards = backwards,
                                                                   .zero_output_for_mask = zeros});
      }
    }
  }
}

// In a trace with an unknown batch and unknown steps, by op and by scan.
TEST(Recurrent, TracesWithUnknownBatchAndSteps) {
  for (bool by_op : {true, false}) {
    const LSTM layer(3, {.return_sequences = true, .use_cudnn = by_op});
    const Tensor x = sequence_floats({2, 4, 5});
    const Tensor eager = layer(x);
    const auto gradient = [&](const Tensor& input) {
      GradientTape tape;
      tape.watch(input);
      return tape.gradient(ops::sum(ops::square(layer(input))), input);
    };
    const Function traced = function(
        [&](const Tensors& inputs) {
          return Tensors{layer(inputs[0]), gradient(inputs[0])};
        },
        {.input_signature = {{float32, {kUnknown, kUnknown, 5}}}});
    const Tensors both = traced.call({x});
    test::expect_values(both[0], eager.to_vector<double>(), 1e-6);
    test::expect_values(both[1], gradient(x).to_vector<double>(), 1e-6);
  }
}

TEST(Recurrent, StatefulLayersGoOnWhereTheLastBatchEnded) {
  const LSTM stateful(3, {.stateful = true});
  const Tensor x = sequence_floats({2, 4, 5}), first = stateful(x), second = stateful(x);
  const LSTM plain(3, {.return_state = true});
  plain->ensure_built({{2, 4, 5}});
  plain->set_weights(stateful->get_weights());
  const RnnOutput<Tensor> one = plain.with_states(x);
  const RnnOutput<Tensor> two = plain.with_states(x, {.initial_state = one.states});
  test::expect_values(first, one.output.to_vector<double>(), 1e-6);
  test::expect_values(second, two.output.to_vector<double>(), 1e-6);
  stateful->reset_state();
  test::expect_values(stateful(x), one.output.to_vector<double>(), 1e-6);
  expect_error([&] { stateful(sequence_floats({3, 4, 5})); }, {"LSTM 'lstm", "same size", "batch=3", "expected=2"});
}

TEST(Recurrent, DropoutDropsTheSameThroughoutASequence) {
  // The state stays 0 where the recurrent kernel is 0, so an output shows what its own step was fed.
  const SimpleRNN layer(50, {.activation = "linear",
                             .use_bias = false,
                             .kernel_initializer = "identity",
                             .recurrent_initializer = "zeros",
                             .dropout = 0.5,
                             .return_sequences = true,
                             .seed = 3});
  const Tensor x = Tensor::full({4, 3, 50}, 1.0);
  test::expect_values(layer(x), std::vector<double>(600, 1.0), 0);
  const std::vector<float> y = layer(x, {.training = true}).to_vector<float>();
  int zeros = 0;
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t j = 0; j < 50; ++j) {
      const float at = y[row * 150 + j];
      EXPECT_TRUE(at == 0.0f || at == 2.0f);
      EXPECT_EQ(at, y[row * 150 + 50 + j]);
      EXPECT_EQ(at, y[row * 150 + 100 + j]);
      zeros += at == 0.0f;
    }
  }
  EXPECT_GT(zeros, 60);
  EXPECT_LT(zeros, 140);
  EXPECT_NE(y, layer(x, {.training = true}).to_vector<float>());
}

TEST(Recurrent, DropoutOfStatesChangesTrainingAlone) {
  for (const Ref<RnnLayer>& layer : std::vector<Ref<RnnLayer>>{
           SimpleRNN(8, {.recurrent_dropout = 0.5}), GRU(8, {.dropout = 0.2, .recurrent_dropout = 0.5}),
           GRU(8, {.recurrent_dropout = 0.5, .reset_after = false}),
           LSTM(8, {.dropout = 0.2, .recurrent_dropout = 0.5}),
           RNN({LSTMCell(4, {.recurrent_dropout = 0.5}), GRUCell(8, {.dropout = 0.5})})}) {
    SCOPED_TRACE(layer->class_name());
    const Tensor x = sequence_floats({3, 4, 5});
    const std::vector<float> calm = (*layer)(x).to_vector<float>();
    EXPECT_EQ(calm, (*layer)(x).to_vector<float>());
    EXPECT_NE(calm, (*layer)(x, {.training = true}).to_vector<float>());
  }
}

// A user's own cell: a running sum, with an output of another size than its state.
class SummingCell : public RnnCell {
 public:
  std::vector<Shape> state_shapes() const override { return {{2}}; }
  Shape output_shape() const override { return {1}; }
  StepResult step(const Tensor& input, const Tensors& states, const CallContext&) override {
    const Tensor sum = states[0] + input;
    return {ops::sum(sum, -1, ops::keep_dims), {sum}};
  }
};

TEST(RNN, RunsAUsersOwnCell) {
  const RNN layer(make<SummingCell>(), {.return_sequences = true, .return_state = true});
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {1, 3, 2});
  const RnnOutput<Tensor> result = layer.with_states(x);
  test::expect_tensor(result.output, float32, {1, 3, 1}, {3, 10, 21});
  test::expect_tensor(result.states.at(0), float32, {1, 2}, {9, 12});
  const RNN last(make<SummingCell>());
  test::expect_tensor(last(x, {.mask = test::tensor_of({1, 1, 0}, {1, 3}, boolean)}), float32, {1, 1}, {10});
}

TEST(RNN, ACellTakesOneStep) {
  const LSTMCell cell(3);
  const RNN layer(cell, {.return_state = true});
  const Tensor x = sequence_floats({2, 1, 4}), h = sequence_floats({2, 3}, 2), c = sequence_floats({2, 3}, 3);
  const StepResult step = cell(sequence_floats({2, 4}), {h, c});
  const RnnOutput<Tensor> run = layer.with_states(x, {.initial_state = {h, c}});
  test::expect_values(step.output, run.output.to_vector<double>(), 1e-6);
  test::expect_values(step.states.at(1), run.states.at(1).to_vector<double>(), 1e-6);
  expect_error([&] { cell(sequence_floats({2, 4}), {h}); }, {"LSTMCell 'lstm_cell", "states=1", "expected=2"});
}

TEST(RNN, CallsOnSymbolsTakeStates) {
  const SymbolicTensor x = Input({4, 5}), h = Input({3});
  const GRU layer(3, {.return_sequences = true, .return_state = true});
  const RnnOutput<SymbolicTensor> result = layer.with_states(x, {.initial_state = {h}});
  EXPECT_EQ(result.output.shape(), Shape({kUnknown, 4, 3}));
  ASSERT_EQ(result.states.size(), 1u);
  EXPECT_EQ(result.states[0].shape(), Shape({kUnknown, 3}));
  EXPECT_EQ(LSTM(2)(x).shape(), Shape({kUnknown, 2}));
}

TEST(Recurrent, SaysWhatIsWrong) {
  expect_error([] { LSTM(0); }, {"units must be positive", "units=0"});
  expect_error(
      [] {
        LSTM(2, {.name = "memory"})(sequence_floats({2, 3}));
      },
      {"LSTM 'memory'", "3 axes (batch, steps, features)", "(2, 3)", "Embedding"});
  expect_error(
      [] {
        LSTM(2)(sequence_floats({2, 3, 4}), {.initial_state = {sequence_floats({2, 2})}});
      },
      {"LSTM 'lstm", "a tensor for each state", "states=2"});
  expect_error(
      [] {
        GRU(2)(sequence_floats({2, 3, 4}), {.initial_state = {sequence_floats({2, 3})}});
      },
      {"GRU 'gru", "(2, 2)", "initial_state[0].shape=(2, 3)"});
  expect_error([] { GRU(2)(sequence_floats({2, 3, 4}), {.mask = some_mask()}); }, {"GRU 'gru", "mask", "(3, 4)"});
  expect_error(
      [] {
        GRU(2, {.reset_after = false, .use_cudnn = true})(sequence_floats({2, 3, 4}));
      },
      {"GRU 'gru", "use_cudnn=true", "Leave use_cudnn out"});
  expect_error([] { LSTM(2, {.return_state = true})(sequence_floats({2, 3, 4})); }, {"with_states"});
  expect_error([] { LSTM(2, {.stateful = true})(Input({3, 4})); }, {"stateful", "batch of known size"});
  expect_error([] { StackedRNNCells({}); }, {"StackedRNNCells", "at least one cell"});
  expect_error([] { RNN(Ref<RnnCell>()); }, {"a cell must be given"});
  expect_error([] { RNN("Dense"); }, {"a cell is expected", "cell=Dense"});
}

TEST(ConvLSTM, SaysWhatIsWrong) {
  expect_error(
      [] {
        ConvLSTM2D(2, 3, {.name = "film"})(sequence_floats({1, 2, 4, 4}));
      },
      {"ConvLSTM2D 'film'", "5 axes", "(1, 2, 4, 4)"});
  expect_error([] { ConvLSTM2D(2, 5)(sequence_floats({1, 2, 4, 4, 1})); }, {"ConvLSTM", "conv_lstm", "(1, 4, 4, 1)"});
  expect_error([] { ConvLSTM1D(2, 3, {.padding = "causal"}); }, {"padding", "causal"});
  expect_error([] { ConvLSTM1D(0, 3); }, {"filters must be positive", "filters=0"});
  expect_error([] { ConvLSTM2D(1, 3, {.strides = 2, .dilation_rate = 2}); }, {"strides", "dilation_rate"});
  expect_error([] { ConvLSTM1D(2, 3)(Input({4, kUnknown, 1})); }, {"known sizes"});
}

TEST(ConvLSTM, DropoutChangesTrainingAlone) {
  const ConvLSTM1D layer(2, 3, {.dropout = 0.5, .recurrent_dropout = 0.5, .return_sequences = true});
  const Tensor x = sequence_floats({2, 3, 5, 2});
  const std::vector<float> calm = layer(x).to_vector<float>();
  EXPECT_EQ(calm, layer(x).to_vector<float>());
  EXPECT_NE(calm, layer(x, {.training = true}).to_vector<float>());
}

TEST(Bidirectional, SaysWhatIsWrong) {
  expect_error([] { Bidirectional(LSTM(2), {.merge_mode = "max"}); }, {"Bidirectional", "merge_mode='max'"});
  expect_error([] { Bidirectional(LSTM(2), {.backward_layer = LSTM(2)}); }, {"Bidirectional", "must go backwards"});
  expect_error(
      [] { Bidirectional(LSTM(2), {.backward_layer = LSTM(2, {.return_sequences = true, .go_backwards = true})}); },
      {"Bidirectional", "agree", "backward_layer.return_sequences=true"});
  expect_error(
      [] {
        Bidirectional(GRU(2))(sequence_floats({2, 3, 4}), {.initial_state = {sequence_floats({2, 2})}});
      },
      {"Bidirectional 'bidirectional", "backward one's", "len(initial_state)=1"});
}

TEST(TimeDistributed, SaysWhatIsWrong) {
  expect_error(
      [] {
        TimeDistributed(Ref<Layer>())(sequence_floats({2, 3, 4}));
      },
      {"TimeDistributed", "a layer must be given"});
  expect_error(
      [] {
        TimeDistributed(Dense(2))(sequence_floats({2, 3}));
      },
      {"TimeDistributed 'time_distributed", "3 axes"});
}

TEST(TimeDistributed, TracesWithUnknownSteps) {
  const TimeDistributed layer(Dense(2));
  const Tensor x = sequence_floats({2, 4, 5});
  const Tensor eager = layer(x);
  const Function traced = function([&](const Tensor& input) { return layer(input); },
                                   {.input_signature = {{float32, {kUnknown, kUnknown, 5}}}});
  test::expect_values(Tensor(traced(x)), eager.to_vector<double>(), 1e-6);
}

}  // namespace
}  // namespace cohort::layers
