// A callback of one's own: it watches batches and epochs, adds a figure, keeps weights and stops the training.
#include <cohort/cohort.h>

#include <cmath>

#include "check.h"

namespace ch = cohort;
namespace ops = ch::ops;

// Stops fit when the loss is small enough, and logs the norm of the first kernel.
class StopBelow : public ch::Callback {
 public:
  explicit StopBelow(double loss) : loss_(loss) {}
  void on_train_batch_end(std::int64_t, ch::Logs& logs) override {
    ++batches;
    check(logs.has("loss"), "a batch has its running loss");
  }
  void on_epoch_end(std::int64_t epoch, ch::Logs& logs) override {
    const ch::Tensor kernel = model().get_layer(0)->get_weights().front();
    logs.set("kernel_norm", ops::sqrt(ops::sum(ops::square(kernel))).item<double>());
    last_epoch = epoch;
    if (logs.at("val_loss") < loss_) model().stop_training = true;
  }

  std::int64_t batches = 0, last_epoch = -1;

 private:
  double loss_;
};

int main() {
  ch::set_random_seed(8);
  const ch::Tensor x = ops::random_normal({160, 3});
  const ch::Tensor y = ops::sum(x, -1, ops::keep_dims);
  ch::Sequential model({ch::layers::Dense(1)});
  model.compile({.optimizer = ch::optimizers::SGD(0.1), .loss = "mse"});

  auto stop = ch::make<StopBelow>(0.01);
  std::int64_t epochs_begun = 0;
  const ch::History history = model.fit(
      x, y,
      {.batch_size = 16,
       .epochs = 100,
       .verbose = 0,
       .validation_split = 0.2,
       .callbacks = {stop, ch::callbacks::LambdaCallback({.on_epoch_begin = [&](std::int64_t) { ++epochs_begun; }}),
                     ch::callbacks::TerminateOnNaN()}});
  const std::int64_t epochs = static_cast<std::int64_t>(history.epoch().size());
  check(epochs > 1 && epochs < 100, "it stops before the last epoch: after " + std::to_string(epochs));
  check(stop->last_epoch + 1 == epochs && epochs_begun == epochs, "the hooks came once an epoch");
  check(stop->batches == 8 * epochs, "and once a batch");
  check(history["val_loss"].back() < 0.01, "the loss is as small as asked for");
  check(std::abs(history["kernel_norm"].back() - std::sqrt(3.0)) < 0.2, "the added figure is part of the history");
}
