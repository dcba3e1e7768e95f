#pragma once

#include <cstdint>
#include <string>

#include "cohort/model/model.h"

// What callbacks of a SidecarEvaluator share.
namespace cohort::callbacks {

// An evaluation logs "loss" where fit logs "val_loss".
inline std::string evaluated_figure(const std::string& monitor) {
  return monitor.starts_with("val_") ? monitor.substr(4) : monitor;
}

// The training step of the checkpoint that is evaluated.
inline std::int64_t evaluated_step(const Model& model) {
  return model.optimizer() ? read_now(model.optimizer()->iterations()).item<std::int64_t>() : 0;
}

}  // namespace cohort::callbacks
