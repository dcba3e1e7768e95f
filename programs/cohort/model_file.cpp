#include "programs/cohort/model_file.h"

#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort::programs {

const ModelFormat& format_to_read(const std::string& path, const std::string& who) {
  return find_model_format(path, who, [](const ModelFormat& format) { return format.load || format.load_weights; });
}

const ModelFormat& format_to_write(const std::string& path, const std::string& who) {
  return find_model_format(path, who, [](const ModelFormat& format) { return format.save || format.save_weights; });
}

bool same_format(const ModelFormat& a, const ModelFormat& b) {
  return a.save == b.save && a.save_weights == b.save_weights;
}

bool holds_model(const std::string& path, const ModelFormat& format) {
  if (!std::filesystem::is_regular_file(path)) {
    throw not_found(titled("file", path), "a file that can be read is expected");
  }
  return format.load && (!format.holds_model || format.holds_model(path));
}

}  // namespace cohort::programs
