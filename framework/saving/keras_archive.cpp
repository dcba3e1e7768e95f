#include "cohort/saving/keras_archive.h"

#include <ctime>
#include <sstream>

#include "cohort/core/error.h"
#include "cohort/files/atomic_file.h"
#include "cohort/files/stored_zip.h"
#include "cohort/files/zip_archive.h"
#include "cohort/model/layer/assets.h"
#include "cohort/model/model_format.h"
#include "cohort/saving/json/object_json.h"
#include "cohort/saving/keras_version.h"
#include "cohort/saving/model_json.h"
#include "cohort/saving/overwrite.h"
#include "cohort/saving/weight_groups.h"
#include "cohort/saving/weights_file.h"

namespace cohort {
namespace {

const std::string kAssets = "assets/";
constexpr const char* kConfig = "config.json";
constexpr const char* kMetadata = "metadata.json";
constexpr const char* kWeights = "model.weights.h5";

std::string metadata() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char date[32];
  std::strftime(date, sizeof(date), "%Y-%m-%d@%H:%M:%S", &parts);
  return dump_json(Json{{"keras_version", kKerasVersion}, {"date_saved", date}});
}

// Files of layers, as "assets/<path of the layer>/<name>".
void add_assets(const Model& model, std::vector<StoredZip::Member>& members) {
  for (const ConstWeightGroup& group : weight_groups(model)) {
    const auto* owner = dynamic_cast<const HasAssets*>(group.layer);
    if (!owner) continue;
    for (const auto& [name, bytes] : owner->assets().files)
      members.emplace_back(kAssets + below_layer(group.path, name), bytes);
  }
}

void restore_assets(Model& model, const ZipArchive& archive, const Hdf5File& weights) {
  for (const WeightGroup& group : weight_groups(model)) {
    auto* owner = dynamic_cast<HasAssets*>(group.layer);
    if (!owner) continue;
    LayerAssets assets;
    const std::string folder = kAssets + below_layer(group.path, "");
    for (const auto& [name, bytes] : archive.members()) {
      if (name.starts_with(folder)) assets.files[name.substr(folder.size())] = bytes;
    }
    if (weights.is_group(group.path)) {
      for (const std::string& name : weights.members(group.path)) {
        assets.values["vars/" + name] = weights.read(group.path + "/" + name);
      }
    }
    owner->restore_assets(assets);
  }
}

void load_archive_weights(Model& model, const std::string& path, const LoadWeightsOptions& options) {
  refuse_by_name(path, options);
  const ZipArchive archive = ZipArchive::parse(read_file(path), path);
  read_weights(model, Hdf5File::open_image(archive.at(kWeights), path + ":" + kWeights), options.skip_mismatch);
}

[[maybe_unused]] const bool keras_archive_registered = register_model_format(
    {.ending = ".keras", .save = save_keras_archive, .load = load_keras_archive, .load_weights = load_archive_weights});

}  // namespace

void save_keras_archive(const Model& model, const std::string& path, bool overwrite) {
  require_may_write(path, overwrite);
  StoredZip archive{.first = {kMetadata, metadata()}, .large_name = kWeights};
  archive.rest.emplace_back(kConfig, model_to_json(model));
  add_assets(model, archive.rest);
  AtomicFile file(path);
  // Straight into the archive: there is no copy of the weights.
  Hdf5File weights = create_hdf5(file, path + ":" + kWeights, StoredZip::kLargeOffset, bytes_of_weights(model));
  write_weights(model, weights);
  weights.close();
  Hdf5File::forget_user_block(file.temporary(), StoredZip::kLargeOffset);
  write_stored_zip(file, path, archive);
}

namespace {

// "3.15.1" as numbers; empty where the text is no version.
std::vector<int> version_numbers(const std::string& text) {
  std::vector<int> numbers;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '.');) {
    if (part.empty() || part.size() > 6 || part.find_first_not_of("0123456789") != std::string::npos) break;
    numbers.push_back(std::stoi(part));
  }
  return numbers;
}

// What to add to an error about a file of a newer Keras; nothing for others.
std::string newer_version_note(const ZipArchive& archive) {
  if (!archive.has(kMetadata)) return {};
  const Json about = parse_json(archive.at(kMetadata), kMetadata);
  const Json version = about.is_object() ? about.value("keras_version", Json()) : Json();
  if (!version.is_string() || version_numbers(version.get<std::string>()) <= version_numbers(kKerasVersion)) return {};
  return " The file was written by Keras " + version.get<std::string>() + "; what is known is Keras " + kKerasVersion +
         ".";
}

}  // namespace

Ref<Model> load_keras_archive(const std::string& path, const LoadModelOptions& options) {
  const ZipArchive archive = ZipArchive::parse(read_file(path), path);
  const std::string note = newer_version_note(archive);
  try {
    Ref<Model> model = model_from_json(archive.at(kConfig), {.compile = options.compile});
    const Hdf5File weights = Hdf5File::open_image(archive.at(kWeights), path + ":" + kWeights);
    restore_assets(*model, archive, weights);
    read_weights(*model, weights);
    return model;
  } catch (const Error& error) {
    if (note.empty()) throw;
    throw Error(error.code(), error.what() + note);
  }
}

}  // namespace cohort
