#include "cohort/callbacks/early_stopping.h"

#include <cstdio>
#include <cstring>

#include "cohort/callbacks/gathered_state.h"
#include "cohort/core/device.h"
#include "cohort/core/error.h"
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

std::string EarlyStoppingCallback::save_state() const {
  std::string state;
  StateWriter writer(state);
  write_figure(writer, best_);
  for (const std::int64_t count : {best_epoch_, stopped_epoch_, wait_}) write_count(writer, count);
  write_count(writer, static_cast<std::int64_t>(best_weights_.size()));
  for (const Tensor& weight : best_weights_) {
    const Tensor value = weight.to_host();
    writer.bytes({static_cast<const char*>(value.raw()), value.bytes()});
  }
  return state;
}

void EarlyStoppingCallback::restore_state(std::string_view state) {
  StateReader reader(state);
  best_ = read_figure(reader);
  for (std::int64_t* count : {&best_epoch_, &stopped_epoch_, &wait_}) *count = read_count(reader);
  const std::int64_t count = read_count(reader);
  const Variables weights = count > 0 ? model().weights() : Variables();
  best_weights_.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string_view bytes = reader.bytes();
    const bool known = i < static_cast<std::int64_t>(weights.size());
    Tensor value = known ? Tensor::empty(weights[static_cast<std::size_t>(i)].dtype(),
                                         weights[static_cast<std::size_t>(i)].shape(), cpu())
                         : Tensor();
    if (!known || value.bytes() != bytes.size()) {
      throw failed_precondition("EarlyStopping", "the best weights so far must be those of this model",
                                {{"weight", i}, {"bytes", bytes.size()}});
    }
    std::memcpy(value.raw(), bytes.data(), bytes.size());
    best_weights_.push_back(std::move(value));
  }
  reader.finish();
}

EarlyStopping::EarlyStopping(EarlyStoppingOptions options)
    : Ref(std::make_shared<EarlyStoppingCallback>(std::move(options))) {}

}  // namespace cohort::callbacks
