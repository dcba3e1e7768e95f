#include "programs/cohort/model_file.h"

#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/saving/hdf5/hdf5_file.h"

namespace cohort::programs {

FileFormat format_of(const std::string& path, const std::string& who) {
  if (path.ends_with(".keras")) return FileFormat::Archive;
  if (path.ends_with(".weights.h5")) return FileFormat::Weights;
  if (path.ends_with(".h5") || path.ends_with(".hdf5")) return FileFormat::Legacy;
  throw invalid_argument(who, "a file that ends in .keras, .h5 or .weights.h5 is expected", {{"file", path}});
}

bool holds_model(const std::string& path, FileFormat format) {
  if (!std::filesystem::is_regular_file(path)) {
    throw not_found(titled("file", path), "a file that can be read is expected");
  }
  if (format == FileFormat::Archive) return true;
  return format == FileFormat::Legacy && Hdf5File::open(path).has_attribute("", "model_config");
}

}  // namespace cohort::programs
