#include <algorithm>
#include <set>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/saving/keras_version.h"
#include "cohort/saving/legacy/legacy_weights.h"
#include "cohort/saving/weight_plan.h"
#include "cohort/saving/weights_file.h"

namespace cohort {
namespace {

constexpr const char* kTopLevelWeights = "top_level_model_weights";

// Trainable ones first, whatever the order they were made in.
Variables legacy_order(const Layer& layer) {
  Variables variables = layer.trainable_variables();
  const Variables frozen = layer.non_trainable_variables();
  variables.insert(variables.end(), frozen.begin(), frozen.end());
  return variables;
}

Variables top_level_weights(const Model& model) {
  Variables variables;
  for (const bool trainable : {true, false}) {
    for (const auto& [name, variable] : model.own_weights()) {
      if (variable.trainable() == trainable) variables.push_back(variable);
    }
  }
  return variables;
}

void write_variables(const Variables& variables, Hdf5File& file, const std::string& group) {
  file.create_group(group);
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const Variable& variable : variables) {
    // Two weights of one path would be one dataset.
    std::string name = variable.path();
    for (int i = 1; !taken.insert(name).second; ++i) name = variable.path() + "_" + std::to_string(i);
    names.push_back(std::move(name));
  }
  write_names(file, group, "weight_names", names);
  for (std::size_t i = 0; i < names.size(); ++i) file.write(path_join(group, names[i]), read_now(variables[i]));
}

struct StoredLayer {
  std::string name, group;
  std::vector<std::string> weights;
};

std::vector<StoredLayer> stored_layers(const Hdf5File& file, const std::string& group) {
  std::vector<StoredLayer> layers;
  for (const std::string& name : read_names(file, group, "layer_names")) {
    const std::string place = path_join(group, name);
    if (!file.is_group(place)) {
      throw Error(ErrorCode::DataLoss, "Model.load_weights", "every layer of layer_names must have a group",
                  {{"file", file.name()}, {"layer", name}});
    }
    layers.push_back({name, place, read_names(file, place, "weight_names")});
  }
  return layers;
}

Error count_mismatch(const Hdf5File& file, const std::string& who, std::size_t stored, std::size_t expected) {
  return Error(ErrorCode::DataLoss, who, "the file must hold as many weights as the layer has",
               {{"file", file.name()}, {"stored", stored}, {"expected", expected}},
               "The file belongs to another model.");
}

// Reads what a file holds for layers, and remembers what it had to skip.
class LegacyReader {
 public:
  LegacyReader(const Hdf5File& file, bool skip_mismatch) : file_(&file), skip_mismatch_(skip_mismatch) {}

  void read(const StoredLayer& stored, const Variables& variables, const std::string& who, bool may_skip_count) {
    if (stored.weights.size() != variables.size()) {
      const Error error = count_mismatch(*file_, who, stored.weights.size(), variables.size());
      if (!skip_mismatch_ || !may_skip_count) throw error;
      return skip(who, error);
    }
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const auto add = [&](WeightPlan& plan) {
        plan.add(*file_, path_join(stored.group, stored.weights[i]), variables[i], who);
      };
      if (!skip_mismatch_) {
        add(plan_);
      } else {
        plan_.attempt(add, [&](const Error& error) { skip(who + " (" + variables[i].path() + ")", error); });
      }
    }
  }

  void finish() {
    plan_.write();
    warn_of_skipped(skipped_, reason_);
  }

 private:
  void skip(std::string what, const Error& error) {
    if (skipped_.empty()) reason_ = error.what();
    skipped_.push_back(std::move(what));
  }

  const Hdf5File* file_;
  bool skip_mismatch_;
  WeightPlan plan_;
  std::vector<std::string> skipped_;
  std::string reason_;
};

void read_by_name(const Model& model, const std::vector<StoredLayer>& stored, LegacyReader& reader) {
  for (const StoredLayer& each : stored) {
    for (const Ref<Layer>& layer : model.layers()) {
      if (layer->name() == each.name) reader.read(each, legacy_order(*layer), layer->title(), true);
    }
  }
}

void read_in_order(const Model& model, std::vector<StoredLayer> stored, const Hdf5File& file, LegacyReader& reader) {
  std::erase_if(stored, [](const StoredLayer& each) { return each.weights.empty(); });
  std::vector<Ref<Layer>> layers = model.layers();
  std::erase_if(layers, [](const Ref<Layer>& layer) { return layer->weights().empty(); });
  if (stored.size() != layers.size()) {
    throw Error(ErrorCode::DataLoss, model.title(), "the file must hold as many layers with weights as the model has",
                {{"file", file.name()}, {"stored", stored.size()}, {"expected", layers.size()}},
                "Give by_name = true to load the layers that have the same names.");
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    reader.read(stored[i], legacy_order(*layers[i]), layers[i]->title(), false);
  }
}

}  // namespace

void write_legacy_weights(const Model& model, Hdf5File& file, const std::string& group) {
  std::vector<Ref<Layer>> layers = model.layers();
  std::vector<std::string> names;
  for (const Ref<Layer>& layer : layers) names.push_back(layer->name());
  if (!group.empty()) file.create_group(group);
  write_names(file, group, "layer_names", names);
  file.set_attribute(group, "backend", kKerasBackend);
  file.set_attribute(group, "keras_version", kKerasVersion);
  for (const Ref<Layer>& layer : layers) write_variables(legacy_order(*layer), file, path_join(group, layer->name()));
  write_variables(top_level_weights(model), file, path_join(group, kTopLevelWeights));
}

void read_legacy_weights(Model& model, const Hdf5File& file, const std::string& group,
                         const LoadWeightsOptions& options) {
  const std::vector<StoredLayer> stored = stored_layers(file, group);
  if (stored.empty() && !file.has_attribute(group, "layer_names")) {
    throw Error(ErrorCode::DataLoss, "Model.load_weights", "the file must list its layers in layer_names",
                {{"file", file.name()}}, "A file in Keras 3's layout has a name that ends in .weights.h5.");
  }
  LegacyReader reader(file, options.skip_mismatch);
  if (options.by_name.value_or(false)) {
    read_by_name(model, stored, reader);
  } else {
    read_in_order(model, stored, file, reader);
  }
  if (const std::string place = path_join(group, kTopLevelWeights); file.exists(place)) {
    const StoredLayer top{kTopLevelWeights, place, read_names(file, place, "weight_names")};
    reader.read(top, top_level_weights(model), model.title(), options.by_name.value_or(false));
  }
  reader.finish();
}

void write_legacy_optimizer(const Optimizer& optimizer, Hdf5File& file) {
  write_variables(optimizer.variables(), file, "optimizer_weights");
}

void read_legacy_optimizer(Model& model, const Hdf5File& file) {
  constexpr const char* kGroup = "optimizer_weights";
  if (!file.exists(kGroup)) return;
  Optimizer& optimizer = *model.optimizer();
  optimizer.ensure_built(model.trainable_variables());
  WeightPlan plan;
  plan.attempt(
      [&](WeightPlan& mine) {
        const std::vector<std::string> names = read_names(file, kGroup, "weight_names");
        const Variables& variables = optimizer.variables();
        if (names.size() != variables.size()) {
          throw count_mismatch(file, optimizer.class_name(), names.size(), variables.size());
        }
        for (std::size_t i = 0; i < names.size(); ++i) {
          mine.add(file, path_join(kGroup, names[i]), variables[i], optimizer.class_name());
        }
      },
      [](const Error& error) { log::warn(std::string("the optimizer starts anew. ") + error.what()); });
  plan.write();
}

}  // namespace cohort
