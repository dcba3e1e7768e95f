#pragma once

#include <memory>

#include "cohort/model/fit/strategy.h"

namespace cohort::distribute {

// What users hold of a strategy: copies share it, and models made in its scope keep it alive.
class StrategyHandle {
 public:
  explicit StrategyHandle(std::shared_ptr<Strategy> body) : body_(std::move(body)) {}
  // Models and variables made while the scope lives belong to this strategy.
  StrategyScope scope() const { return StrategyScope(body_); }
  // Replicas whose gradients meet in one update.
  int num_replicas_in_sync() const { return body_->num_replicas_in_sync(); }
  // What the copies share.
  const std::shared_ptr<Strategy>& body() const { return body_; }

 private:
  std::shared_ptr<Strategy> body_;
};

}  // namespace cohort::distribute
