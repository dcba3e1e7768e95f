#include "cohort/saving/legacy/legacy_h5.h"

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/model/layer/assets.h"
#include "cohort/model/model_format.h"
#include "cohort/saving/hdf5/hdf5_file.h"
#include "cohort/saving/keras_version.h"
#include "cohort/saving/legacy/legacy_json.h"
#include "cohort/saving/legacy/legacy_weights.h"
#include "cohort/saving/overwrite.h"
#include "cohort/saving/weight_groups.h"
#include "cohort/saving/weights_file.h"

namespace cohort {
namespace {

// Keras loses a learned vocabulary in a legacy file; here it stands beside what Keras reads.
const std::string kAssetsGroup = "cohort_assets";

void write_assets(const Model& model, Hdf5File& file) {
  for (const ConstWeightGroup& group : weight_groups(model)) {
    const auto* owner = dynamic_cast<const HasAssets*>(group.layer);
    if (!owner) continue;
    const LayerAssets assets = owner->assets();
    const std::string place = kAssetsGroup + "/" + below_layer(group.path, "");
    for (const auto& [name, bytes] : assets.files) {
      file.write(place + "files/" + name, Tensor::of(std::vector<std::uint8_t>(bytes.begin(), bytes.end()),
                                                     {static_cast<std::int64_t>(bytes.size())}, cpu()));
    }
    for (const auto& [name, value] : assets.values) file.write(place + "values/" + name, value);
  }
}

void collect_datasets(const Hdf5File& file, const std::string& group, const std::string& name,
                      std::map<std::string, Tensor>& found) {
  for (const std::string& member : file.members(group)) {
    const std::string path = group + "/" + member, below = path_join(name, member);
    if (file.is_group(path)) {
      collect_datasets(file, path, below, found);
    } else {
      found[below] = file.read(path);
    }
  }
}

void restore_h5_assets(Model& model, const Hdf5File& file) {
  for (const WeightGroup& group : weight_groups(model)) {
    auto* owner = dynamic_cast<HasAssets*>(group.layer);
    const std::string place = kAssetsGroup + "/" + below_layer(group.path, "");
    if (!owner || !file.is_group(place + "files")) continue;
    LayerAssets assets;
    std::map<std::string, Tensor> files;
    collect_datasets(file, place + "files", "", files);
    for (const auto& [name, value] : files) {
      const std::vector<std::uint8_t> bytes = value.to_vector<std::uint8_t>();
      assets.files[name] = std::string(bytes.begin(), bytes.end());
    }
    if (file.is_group(place + "values")) collect_datasets(file, place + "values", "", assets.values);
    owner->restore_assets(assets);
  }
}

void save_legacy_weights(const Model& model, const std::string& path, bool overwrite) {
  require_may_write(path, overwrite);
  write_hdf5_atomically(path, bytes_of_weights(model), [&](Hdf5File& file) { write_legacy_weights(model, file, ""); });
}

void load_legacy_weights(Model& model, const std::string& path, const LoadWeightsOptions& options) {
  const Hdf5File file = Hdf5File::open(path);
  const bool whole = !file.has_attribute("", "layer_names") && file.exists("model_weights");
  read_legacy_weights(model, file, whole ? "model_weights" : "", options);
}

bool holds_legacy_model(const std::string& path) { return Hdf5File::open(path).has_attribute("", "model_config"); }

bool register_legacy_format(const char* ending) {
  return register_model_format({.ending = ending,
                                .save = save_legacy_h5,
                                .load = load_legacy_h5,
                                .holds_model = holds_legacy_model,
                                .save_weights = save_legacy_weights,
                                .load_weights = load_legacy_weights});
}
[[maybe_unused]] const bool legacy_registered = register_legacy_format(".h5") && register_legacy_format(".hdf5");

}  // namespace

void save_legacy_h5(const Model& model, const std::string& path, bool overwrite) {
  require_may_write(path, overwrite);
  // Made before the file: a model that cannot be written leaves nothing behind.
  const bool compiled = model.compiled() && model.optimizer();
  const std::string config = dump_json(legacy_model_config(model));
  const std::string training = compiled ? dump_json(legacy_training_config(model.compile_options())) : "";
  write_hdf5_atomically(path, bytes_of_weights(model), [&](Hdf5File& file) {
    file.set_attribute("", "keras_version", kKerasVersion);
    file.set_attribute("", "backend", kKerasBackend);
    file.set_attribute("", "model_config", config);
    if (compiled) file.set_attribute("", "training_config", training);
    write_legacy_weights(model, file, "model_weights");
    if (compiled) write_legacy_optimizer(*model.optimizer(), file);
    write_assets(model, file);
  });
}

Ref<Model> load_legacy_h5(const std::string& path, const LoadModelOptions& options) {
  const Hdf5File file = Hdf5File::open(path);
  if (!file.has_attribute("", "model_config")) {
    throw Error(ErrorCode::DataLoss, "load_model", "a file with a model's architecture is expected", {{"file", path}},
                "A file of weights alone is read by model.load_weights().");
  }
  const Ref<Model> model =
      model_from_legacy_config(parse_json(file.string_attribute("", "model_config"), "model_config"));
  restore_h5_assets(*model, file);
  read_legacy_weights(*model, file, "model_weights", {});
  if (!options.compile) return model;
  if (!file.has_attribute("", "training_config")) {
    log::warn("load_model: '" + path + "' holds no training_config; the model is not compiled.");
    return model;
  }
  model->compile(
      compile_from_legacy_config(parse_json(file.string_attribute("", "training_config"), "training_config")));
  if (model->optimizer()) read_legacy_optimizer(*model, file);
  return model;
}

}  // namespace cohort
