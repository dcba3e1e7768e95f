#include "cohort/saving/keras_archive.h"

#include <ctime>

#include "cohort/core/error.h"
#include "cohort/saving/atomic_file.h"
#include "cohort/saving/config_json_impl.h"
#include "cohort/saving/model_json.h"
#include "cohort/saving/overwrite.h"
#include "cohort/saving/weights_file.h"
#include "cohort/saving/zip_archive.h"

namespace cohort {
namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kMetadata = "metadata.json";
constexpr const char* kWeights = "model.weights.h5";
// The version of Keras whose layout is written.
constexpr const char* kKerasVersion = "3.15.1";

std::string metadata() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char date[32];
  std::strftime(date, sizeof(date), "%Y-%m-%d@%H:%M:%S", &parts);
  return dump_json(Json{{"keras_version", kKerasVersion}, {"date_saved", date}});
}

void load_archive_weights(Model& model, const std::string& path) {
  const ZipArchive archive = ZipArchive::parse(read_file(path), path);
  read_weights(model, Hdf5File::open_image(archive.at(kWeights), path + ":" + kWeights));
}

[[maybe_unused]] const bool keras_archive_registered =
    register_model_saver(".keras", {save_keras_archive, load_archive_weights});

}  // namespace

void save_keras_archive(const Model& model, const std::string& path, bool overwrite) {
  require_may_write(path, overwrite);
  Hdf5File weights = Hdf5File::create_image(kWeights);
  write_weights(model, weights);
  ZipArchive archive;
  archive.add(kMetadata, metadata());
  archive.add(kConfig, model_to_json(model));
  archive.add(kWeights, weights.image());
  write_file_atomically(path, archive.serialize());
}

Ref<Model> load_model(const std::string& path, LoadModelOptions options) {
  if (!path.ends_with(".keras")) {
    throw invalid_argument("load_model", "a path that ends in .keras is expected", {{"path", path}});
  }
  const ZipArchive archive = ZipArchive::parse(read_file(path), path);
  Ref<Model> model = model_from_json(archive.at(kConfig), {.compile = options.compile});
  read_weights(*model, Hdf5File::open_image(archive.at(kWeights), path + ":" + kWeights));
  return model;
}

}  // namespace cohort
