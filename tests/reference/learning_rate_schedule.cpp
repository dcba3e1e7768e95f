// Learning rates: a schedule with a warmup, rates by epoch, and a rate that falls where the loss does not.
#include <cohort/cohort.h>

#include <cmath>
#include <numbers>

#include "check.h"

namespace ch = cohort;
namespace ops = ch::ops;
namespace schedules = ch::optimizers::schedules;

bool near(double a, double b) { return std::abs(a - b) < 1e-6; }

int main() {
  ch::set_random_seed(17);
  const ch::Tensor x = ops::random_normal({64, 3});
  const ch::Tensor y = ops::sum(x, -1, ops::keep_dims);
  ch::Sequential model({ch::layers::Dense(1)});

  // Four batches an epoch: one epoch of warmup, four of decay.
  const schedules::CosineDecay cosine(0.0, 16, {.alpha = 0.1, .warmup_target = 0.2, .warmup_steps = 4});
  const auto rate_at = [&](std::int64_t step) {
    return (*cosine)(ch::Tensor::scalar(static_cast<double>(step), ch::DType::Int64)).item<double>();
  };
  check(near(rate_at(2), 0.1) && near(rate_at(4), 0.2) && near(rate_at(20), 0.02), "up, then down along a cosine");
  model.compile({.optimizer = ch::optimizers::SGD(cosine, {.momentum = 0.5}), .loss = "mse"});
  std::vector<double> rates;
  auto watch = ch::callbacks::LambdaCallback(
      {.on_epoch_end = [&](std::int64_t, ch::Logs&) { rates.push_back(model.optimizer()->learning_rate()); }});
  model.fit(x, y, {.batch_size = 16, .epochs = 5, .verbose = 0, .callbacks = {watch}});
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double progress = 4.0 * static_cast<double>(i) / 16.0;
    const double expected = 0.2 * (0.9 * 0.5 * (1.0 + std::cos(std::numbers::pi * progress)) + 0.1);
    check(near(rates[i], expected), "the rate after epoch " + std::to_string(i));
  }

  // By epoch: what the callback sets is logged.
  model.compile({.optimizer = ch::optimizers::SGD(0.1), .loss = "mse"});
  auto halve = ch::callbacks::LearningRateScheduler(
      [](std::int64_t epoch, double rate) { return epoch == 0 ? rate : rate / 2; });
  const ch::History history = model.fit(x, y, {.epochs = 4, .verbose = 0, .callbacks = {halve}});
  check(near(history["learning_rate"].back(), 0.0125), "the rate was halved three times");

  // On a plateau: a target of pure noise soon stops improving.
  const ch::Tensor noise = ops::random_normal({64, 1});
  model.compile({.optimizer = ch::optimizers::SGD(0.1), .loss = "mse"});
  model.fit(x, noise,
            {.epochs = 40,
             .verbose = 0,
             .callbacks = {
                 ch::callbacks::ReduceLROnPlateau({.monitor = "loss", .factor = 0.5, .patience = 2, .min_lr = 0.01})}});
  check(model.optimizer()->learning_rate() < 0.06,
        "the rate fell: " + std::to_string(model.optimizer()->learning_rate()));
}
