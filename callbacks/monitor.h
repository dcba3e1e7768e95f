#pragma once

#include <optional>
#include <string>

#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

// Tells whether a logged figure has improved: what EarlyStopping, ReduceLROnPlateau and ModelCheckpoint share.
class Monitor {
 public:
  // `mode` is "min", "max" or "auto", which asks the model's metric of that name; any other is taken for "auto", with a
  // warning in the log.
  Monitor(std::string who, std::string name, std::string mode, double min_delta = 0.0);

  // Name of the figure.
  const std::string& name() const { return name_; }
  // The figure, or nothing with a warning in the log.
  std::optional<double> value(const Logs& logs) const;
  // Decides "auto" now that the model's metrics exist; throws when they do not tell.
  void decide(const Model& model);
  // Whether `now` beats `before` by more than min_delta; anything beats nothing.
  bool improved(double now, std::optional<double> before, const Model& model);

 private:
  enum class Direction { Unknown, Less, Greater };
  std::string who_, name_;
  Direction direction_;
  double min_delta_;
};

}  // namespace cohort::callbacks
