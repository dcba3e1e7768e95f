#include "cohort/core/timeline.h"
#include "cohort/model/fit/strategy.h"
#include "cohort/model/model.h"
#include "cohort/model/model_format.h"

namespace cohort {

void Model::save(const std::string& path, SaveOptions options) const {
  if (!strategy()->is_chief()) return;
  const auto save = model_format_function(path, "Model.save", &ModelFormat::save);
  const TimelineSpan span("file", "save model");
  save(*this, path, options.overwrite);
}

void Model::save_weights(const std::string& path, SaveOptions options) const {
  if (!strategy()->is_chief()) return;
  const auto save = model_format_function(path, "Model.save_weights", &ModelFormat::save_weights);
  const TimelineSpan span("file", "save weights");
  save(*this, path, options.overwrite);
}

void Model::load_weights(const std::string& path, LoadWeightsOptions options) {
  model_format_function(path, "Model.load_weights", &ModelFormat::load_weights)(*this, path, options);
}

void Model::export_graph(const std::string& path, ExportOptions options) {
  if (!strategy()->is_chief()) return;
  model_format_function(path, "Model.export_graph", &ModelFormat::export_graph)(*this, path, options);
}

}  // namespace cohort
