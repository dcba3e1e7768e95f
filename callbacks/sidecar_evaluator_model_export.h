#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cohort/callbacks/monitor.h"
#include "cohort/model/fit/callback.h"

namespace cohort::callbacks {

struct SidecarEvaluatorModelExportOptions {
  // A figure of the evaluation; "val_loss" is the same as "loss".
  std::string monitor = "loss";
  int verbose = 0;
  // Save the weights alone; the path then ends in .weights.h5, or as another format's of weights.
  bool save_weights_only = false;
  std::string mode = "auto";
};

class SidecarEvaluatorModelExportCallback : public Callback {
 public:
  SidecarEvaluatorModelExportCallback(std::string export_filepath, SidecarEvaluatorModelExportOptions options);
  void on_test_end(Logs& logs) override;
  BatchHooks batch_hooks() const override { return BatchHooks::None; }
  std::string save_state() const override;
  void restore_state(std::string_view state) override;
  // The monitored figure of the model that was exported last; none before the first.
  std::optional<double> best() const { return best_; }

 private:
  void save(const std::string& path);

  std::string export_filepath_;
  SidecarEvaluatorModelExportOptions options_;
  Monitor monitor_;
  std::optional<double> best_;
};

// For the callbacks of a SidecarEvaluator: writes the best model of all checkpoints so far.
//   export_filepath: a path outside the folder of checkpoints that ends in .keras or .h5 (the model), .graph (what
//     predict computes, as export_graph writes it) or .weights.h5; may have fields, filled in with the training step
//     and the figures: {step}, {loss:.2f}.
struct SidecarEvaluatorModelExport : Ref<SidecarEvaluatorModelExportCallback> {
  explicit SidecarEvaluatorModelExport(std::string export_filepath, SidecarEvaluatorModelExportOptions options = {});
};

}  // namespace cohort::callbacks
