#include "cohort/saving/load_model.h"

#include "cohort/core/error.h"
#include "cohort/saving/keras_archive.h"
#include "cohort/saving/legacy/legacy_h5.h"

namespace cohort {

Ref<Model> load_model(const std::string& path, LoadModelOptions options) {
  if (path.ends_with(".keras")) return load_keras_archive(path, options);
  if (path.ends_with(".h5") || path.ends_with(".hdf5")) return load_legacy_h5(path, options);
  throw invalid_argument("load_model", "a path that ends in .keras, .h5 or .hdf5 is expected", {{"path", path}});
}

}  // namespace cohort
