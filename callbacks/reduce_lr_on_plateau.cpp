#include "cohort/callbacks/reduce_lr_on_plateau.h"

#include <algorithm>
#include <cstdio>

#include "cohort/callbacks/formatting.h"
#include "cohort/callbacks/gathered_state.h"
#include "cohort/core/error.h"
#include "cohort/model/model.h"

namespace cohort::callbacks {

ReduceLROnPlateauCallback::ReduceLROnPlateauCallback(ReduceLROnPlateauOptions options)
    : options_(std::move(options)), monitor_("ReduceLROnPlateau", options_.monitor, options_.mode, options_.min_delta) {
  if (options_.factor >= 1.0) {
    throw invalid_argument("ReduceLROnPlateau", "factor must be below 1", {{"factor", options_.factor}});
  }
}

void ReduceLROnPlateauCallback::on_train_begin() {
  best_.reset();
  wait_ = cooldown_counter_ = 0;
}

bool ReduceLROnPlateauCallback::reduce(std::int64_t epoch) {
  const double before = model().optimizer()->learning_rate();
  if (before <= static_cast<float>(options_.min_lr)) return false;
  const double rate = std::max(before * options_.factor, options_.min_lr);
  model().optimizer()->set_learning_rate(rate);
  if (options_.verbose > 0) {
    std::printf("\nEpoch %lld: ReduceLROnPlateau reducing learning rate to %s.\n", static_cast<long long>(epoch + 1),
                python_number(rate).c_str());
  }
  return true;
}

void ReduceLROnPlateauCallback::on_epoch_end(std::int64_t epoch, Logs& logs) {
  monitor_.decide(model());
  logs.set("learning_rate", model().optimizer()->learning_rate());
  const std::optional<double> now = monitor_.value(logs);
  if (!now) return;
  if (cooldown_counter_ > 0) {
    --cooldown_counter_;
    wait_ = 0;
  }
  if (monitor_.improved(*now, best_, model())) {
    best_ = now;
    wait_ = 0;
  } else if (cooldown_counter_ == 0 && ++wait_ >= options_.patience && reduce(epoch)) {
    cooldown_counter_ = options_.cooldown;
    wait_ = 0;
  }
}

std::string ReduceLROnPlateauCallback::save_state() const {
  std::string state;
  StateWriter writer(state);
  write_figure(writer, best_);
  for (const std::int64_t count : {wait_, cooldown_counter_}) write_count(writer, count);
  return state;
}

void ReduceLROnPlateauCallback::restore_state(std::string_view state) {
  StateReader reader(state);
  best_ = read_figure(reader);
  for (std::int64_t* count : {&wait_, &cooldown_counter_}) *count = read_count(reader);
  reader.finish();
}

ReduceLROnPlateau::ReduceLROnPlateau(ReduceLROnPlateauOptions options)
    : Ref(std::make_shared<ReduceLROnPlateauCallback>(std::move(options))) {}

}  // namespace cohort::callbacks
