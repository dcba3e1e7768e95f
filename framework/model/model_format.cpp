#include "cohort/model/model_format.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "cohort/core/error.h"

namespace cohort {
namespace {

struct ModelFormats {
  std::mutex mutex;
  std::map<std::string, ModelFormat> by_ending;  // entries are never removed: references stay valid
};
ModelFormats& model_formats() {
  static auto* formats = new ModelFormats;
  return *formats;
}

// ".h5, .hdf5 or .keras"
std::string listed_endings(const std::vector<std::string>& endings) {
  std::string text;
  for (std::size_t i = 0; i < endings.size(); ++i) {
    if (i > 0) text += i + 1 == endings.size() ? " or " : ", ";
    text += endings[i];
  }
  return text;
}

}  // namespace

bool register_model_format(ModelFormat format) {
  std::lock_guard lock(model_formats().mutex);
  const std::string ending = format.ending;
  if (!model_formats().by_ending.emplace(ending, std::move(format)).second) {
    throw Error(ErrorCode::AlreadyExists, "ModelFormat", "an ending may be registered once", {{"ending", ending}});
  }
  return true;
}

const ModelFormat& find_model_format(const std::string& path, std::string_view who,
                                     const std::function<bool(const ModelFormat&)>& can) {
  std::lock_guard lock(model_formats().mutex);
  const ModelFormat* best = nullptr;
  std::vector<std::string> endings;
  for (const auto& [ending, format] : model_formats().by_ending) {
    if (!can(format)) continue;
    endings.push_back(ending);
    if (path.ends_with(ending) && (!best || ending.size() > best->ending.size())) best = &format;
  }
  if (!best) throw invalid_argument(who, "the path must end in " + listed_endings(endings), {{"path", path}});
  return *best;
}

bool has_weights_format(const std::string& path) {
  std::lock_guard lock(model_formats().mutex);
  const auto& formats = model_formats().by_ending;
  return std::any_of(formats.begin(), formats.end(),
                     [&](const auto& each) { return each.second.load_weights && path.ends_with(each.first); });
}

}  // namespace cohort
