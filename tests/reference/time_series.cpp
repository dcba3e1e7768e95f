// Time series: windows over a signal, causal convolutions and an LSTM forecast the next value.
#include <cohort/cohort.h>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;
namespace ops = ch::ops;

int main() {
  ch::set_random_seed(11);
  constexpr std::int64_t kSteps = 400, kWindow = 16;
  const ch::Tensor time = ops::cast(ops::arange(0, kSteps), ch::DType::Float32);
  const ch::Tensor signal = ops::sin(time * 0.3) + 0.5 * ops::sin(time * 0.07) + ops::random_normal({kSteps}, 0, 0.02);

  // Window i holds the values [i, i + kWindow); its target is the value after it.
  const std::int64_t count = kSteps - kWindow;
  const ch::Tensor first = ops::expand_dims(ops::arange(0, count), -1);
  const ch::Tensor offsets = ops::expand_dims(ops::arange(0, kWindow), 0);
  const ch::Tensor x = ops::expand_dims(ops::gather(signal, first + offsets), -1);
  const ch::Tensor y = ops::expand_dims(signal.rows(kWindow, count), -1);
  check(x.shape() == ch::Shape({count, kWindow, 1}), "windows are (samples, steps, features)");

  ch::Sequential model({ch::make<ch::InputLayer>(ch::Shape{kWindow, 1}),
                        layers::Conv1D(8, 3, {.padding = "causal", .activation = "relu"}),
                        layers::Bidirectional(layers::LSTM(8)), layers::Dense(1)});
  check(model.outputs().leaf().shape() == ch::Shape({ch::kUnknown, 1}), "it forecasts one value");
  model.compile({.optimizer = ch::optimizers::Adam(1e-2), .loss = "mse", .metrics = {"mae"}});

  const std::int64_t train = 300;
  const ch::Tensor later_x = x.rows(train, count - train), later_y = y.rows(train, count - train);
  model.fit(x.rows(0, train), y.rows(0, train), {.epochs = 12, .verbose = 0, .validation_data = {later_x, later_y}});

  const double error = model.evaluate(later_x, later_y, {.verbose = 0})["mae"];
  const ch::Tensor last_value = ops::take_at(later_x, -1, 1);
  const double naive = ops::mean(ops::abs(last_value - later_y)).item<double>();
  check(error < 0.7 * naive,
        "it beats 'as the step before': " + std::to_string(error) + " to " + std::to_string(naive));
}
