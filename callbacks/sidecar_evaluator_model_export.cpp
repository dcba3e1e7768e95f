#include "cohort/callbacks/sidecar_evaluator_model_export.h"

#include <cmath>
#include <cstdio>

#include "cohort/callbacks/evaluated_figure.h"
#include "cohort/callbacks/formatting.h"
#include "cohort/callbacks/gathered_state.h"
#include "cohort/model/model_format.h"

namespace cohort::callbacks {
namespace {

constexpr const char* kModelExport = "SidecarEvaluatorModelExport";

}  // namespace

SidecarEvaluatorModelExportCallback::SidecarEvaluatorModelExportCallback(std::string export_filepath,
                                                                         SidecarEvaluatorModelExportOptions options)
    : export_filepath_(std::move(export_filepath)),
      options_(std::move(options)),
      monitor_(kModelExport, evaluated_figure(options_.monitor), options_.mode) {
  find_model_format(export_filepath_, kModelExport, [&](const ModelFormat& format) {
    return options_.save_weights_only ? format.save_weights != nullptr : format.save || format.export_graph;
  });
}

void SidecarEvaluatorModelExportCallback::on_test_end(Logs& logs) {
  const std::optional<double> now = monitor_.value(logs);
  if (!now || std::isnan(*now) || !monitor_.improved(*now, best_, model())) return;
  const Logs counts{{"step", static_cast<double>(evaluated_step(model()))}};
  const std::string path = format_path(export_filepath_, counts, logs, kModelExport);
  save(path);
  best_ = now;
  if (options_.verbose > 0) std::printf("%s is the best so far, saved to %s\n", monitor_.name().c_str(), path.c_str());
}

void SidecarEvaluatorModelExportCallback::save(const std::string& path) {
  if (options_.save_weights_only) return model().save_weights(path);
  const ModelFormat& format =
      find_model_format(path, kModelExport, [](const ModelFormat& each) { return each.save || each.export_graph; });
  if (format.save) return model().save(path);
  model().export_graph(path);
}

std::string SidecarEvaluatorModelExportCallback::save_state() const {
  std::string state;
  StateWriter writer(state);
  write_figure(writer, best_);
  return state;
}

void SidecarEvaluatorModelExportCallback::restore_state(std::string_view state) {
  StateReader reader(state);
  best_ = read_figure(reader);
  reader.finish();
}

SidecarEvaluatorModelExport::SidecarEvaluatorModelExport(std::string export_filepath,
                                                         SidecarEvaluatorModelExportOptions options)
    : Ref(std::make_shared<SidecarEvaluatorModelExportCallback>(std::move(export_filepath), std::move(options))) {}

}  // namespace cohort::callbacks
