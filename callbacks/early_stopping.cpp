#include "cohort/callbacks/early_stopping.h"

#include <cstdio>

#include "cohort/model/model.h"

namespace cohort::callbacks {

EarlyStoppingCallback::EarlyStoppingCallback(EarlyStoppingOptions options)
    : options_(std::move(options)), monitor_("EarlyStopping", options_.monitor, options_.mode, options_.min_delta) {}

void EarlyStoppingCallback::on_train_begin() {
  best_.reset();
  best_epoch_ = stopped_epoch_ = wait_ = 0;
  best_weights_.clear();
}

void EarlyStoppingCallback::on_epoch_end(std::int64_t epoch, Logs& logs) {
  monitor_.decide(model());
  const std::optional<double> now = monitor_.value(logs);
  if (!now || epoch < options_.start_from_epoch) return;
  if (options_.restore_best_weights && best_weights_.empty()) {
    best_weights_ = model().get_weights();
    best_epoch_ = epoch;
  }
  ++wait_;
  if (monitor_.improved(*now, best_, model())) {
    best_ = now;
    best_epoch_ = epoch;
    if (options_.restore_best_weights) best_weights_ = model().get_weights();
    if (!options_.baseline || monitor_.improved(*now, options_.baseline, model())) wait_ = 0;
    return;
  }
  if (wait_ >= options_.patience && epoch > 0) {
    stopped_epoch_ = epoch;
    model().stop_training = true;
  }
}

void EarlyStoppingCallback::on_train_end(Logs&) {
  if (stopped_epoch_ > 0 && options_.verbose > 0) {
    std::printf("Epoch %lld: early stopping\n", static_cast<long long>(stopped_epoch_ + 1));
  }
  if (options_.restore_best_weights && !best_weights_.empty()) {
    if (options_.verbose > 0) {
      std::printf("Restoring model weights from the end of the best epoch: %lld.\n",
                  static_cast<long long>(best_epoch_ + 1));
    }
    model().set_weights(best_weights_);
  }
}

}  // namespace cohort::callbacks
