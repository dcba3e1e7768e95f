#include "cohort/callbacks/sidecar_evaluator_early_stopping.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cohort/callbacks/evaluated_figure.h"
#include "cohort/callbacks/gathered_state.h"
#include "cohort/core/error.h"
#include "cohort/model/model.h"

namespace cohort::callbacks {

SidecarEvaluatorEarlyStoppingCallback::SidecarEvaluatorEarlyStoppingCallback(
    SidecarEvaluatorEarlyStoppingOptions options)
    : patience_(options.patience),
      monitor_("SidecarEvaluatorEarlyStopping", evaluated_figure(options.monitor), options.mode, options.min_delta) {
  if (patience_ < 0) {
    throw invalid_argument("SidecarEvaluatorEarlyStopping", "patience must not be negative", {{"patience", patience_}});
  }
}

void SidecarEvaluatorEarlyStoppingCallback::on_test_end(Logs& logs) {
  const std::optional<double> now = monitor_.value(logs);
  if (!now) return;
  figures_[evaluated_step(model())] = *now;
  if (wait() >= std::max<std::int64_t>(patience_, 1)) model().stop_training = true;
}

std::int64_t SidecarEvaluatorEarlyStoppingCallback::wait() {
  std::optional<double> best;
  std::int64_t waited = 0;
  for (const auto& [step, figure] : figures_) {
    if (!std::isnan(figure) && monitor_.improved(figure, best, model())) {
      best = figure;
      waited = 0;
    } else {
      ++waited;
    }
  }
  return waited;
}

std::string SidecarEvaluatorEarlyStoppingCallback::save_state() const {
  std::string state;
  StateWriter writer(state);
  write_count(writer, static_cast<std::int64_t>(figures_.size()));
  for (const auto& [step, figure] : figures_) {
    write_count(writer, step);
    write_figure(writer, figure);
  }
  return state;
}

void SidecarEvaluatorEarlyStoppingCallback::restore_state(std::string_view state) {
  StateReader reader(state);
  figures_.clear();
  for (std::int64_t left = read_count(reader); left > 0; --left) {
    const std::int64_t step = read_count(reader);
    figures_[step] = read_figure(reader).value_or(0.0);
  }
  reader.finish();
}

SidecarEvaluatorEarlyStopping::SidecarEvaluatorEarlyStopping(SidecarEvaluatorEarlyStoppingOptions options)
    : Ref(std::make_shared<SidecarEvaluatorEarlyStoppingCallback>(std::move(options))) {}

}  // namespace cohort::callbacks
