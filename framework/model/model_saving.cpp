#include <map>
#include <mutex>

#include "cohort/core/text.h"
#include "cohort/core/timeline.h"
#include "cohort/model/model.h"

namespace cohort {
namespace {

struct Savers {
  std::mutex mutex;
  std::map<std::string, ModelSaver> by_ending;
};
Savers& savers() {
  static Savers* savers = new Savers;
  return *savers;
}

// The saver of the longest ending that fits: ".weights.h5" before ".h5".
ModelSaver saver_for(const std::string& path, const char* who) {
  std::lock_guard lock(savers().mutex);
  const std::pair<const std::string, ModelSaver>* best = nullptr;
  for (const auto& entry : savers().by_ending) {
    if (path.ends_with(entry.first) && (!best || entry.first.size() > best->first.size())) best = &entry;
  }
  if (!best) {
    const std::string known = join(savers().by_ending, [](const auto& each) { return each.first; });
    throw invalid_argument(who, "the path's ending must name a file format", {{"path", path}},
                           "Endings known: " + (known.empty() ? "none" : known) + ".");
  }
  return best->second;
}

}  // namespace

bool register_model_saver(const std::string& ending, ModelSaver saver) {
  std::lock_guard lock(savers().mutex);
  return savers().by_ending.emplace(ending, saver).second;
}

void Model::save(const std::string& path, SaveOptions options) const {
  const ModelSaver saver = saver_for(path, "Model.save");
  if (!saver.save) throw unimplemented("Model.save", "this format holds no whole model", {{"path", path}});
  const TimelineSpan span("file", "save model");
  saver.save(*this, path, options.overwrite);
}

void Model::save_weights(const std::string& path, SaveOptions options) const {
  const ModelSaver saver = saver_for(path, "Model.save_weights");
  if (!saver.save_weights) {
    throw invalid_argument("Model.save_weights", "the path must end in .weights.h5, or in .h5 for the legacy layout",
                           {{"path", path}});
  }
  const TimelineSpan span("file", "save weights");
  saver.save_weights(*this, path, options.overwrite);
}

void Model::load_weights(const std::string& path, LoadWeightsOptions options) {
  const ModelSaver saver = saver_for(path, "Model.load_weights");
  if (!saver.load_weights) throw unimplemented("Model.load_weights", "this format cannot be read", {{"path", path}});
  saver.load_weights(*this, path, options);
}

void Model::export_graph(const std::string& path, ExportOptions options) {
  const ModelSaver saver = saver_for(path, "Model.export_graph");
  if (!saver.export_graph) {
    throw invalid_argument("Model.export_graph", "the path must end in .graph", {{"path", path}});
  }
  saver.export_graph(*this, path, options);
}

}  // namespace cohort
