#include "cohort/saving/weights_file.h"

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/core/text.h"
#include "cohort/files/atomic_file.h"
#include "cohort/model/layer/assets.h"
#include "cohort/model/model_format.h"
#include "cohort/optimizers/loss_scale_optimizer.h"
#include "cohort/saving/overwrite.h"
#include "cohort/saving/weight_groups.h"
#include "cohort/saving/weight_plan.h"

namespace cohort {
namespace {

void plan_group(const Hdf5File& file, const std::string& group, const std::string& who, const Variables& variables,
                WeightPlan& plan) {
  const int stored = file.numbered_members(group);
  if (stored != static_cast<int>(variables.size())) {
    throw Error(ErrorCode::DataLoss, who, "the file must hold as many weights as the model has",
                {{"file", file.name()}, {"group", group}, {"stored", stored}, {"expected", variables.size()}},
                "The file belongs to another model.");
  }
  for (int i = 0; i < stored; ++i) {
    plan.add(file, group + "/" + std::to_string(i), variables[static_cast<std::size_t>(i)], who);
  }
}

void plan_optimizer(Model& model, const Hdf5File& file, WeightPlan& plan) {
  if (!model.compiled() || !model.optimizer() || !file.exists("optimizer/vars")) return;
  Optimizer& optimizer = *model.optimizer();
  optimizer.ensure_built(model.trainable_variables());
  plan.attempt(
      [&](WeightPlan& mine) {
        plan_group(file, "optimizer/vars", optimizer.class_name(), optimizer.variables(), mine);
      },
      [](const Error& error) {
        // As Keras does: the weights are worth having even when the optimizer was another.
        log::warn(std::string("the optimizer starts anew. ") + error.what());
      });
}

void write_optimizer(const Optimizer& optimizer, const std::string& place, Hdf5File& file) {
  const std::string group = place + "/vars";
  file.create_group(group);
  file.set_attribute(group, "name", optimizer.name());
  int number = 0;
  for (const Variable& variable : optimizer.variables()) {
    file.write(group + "/" + std::to_string(number++), read_now(variable));
  }
  // Keras writes the state of an optimizer inside another twice: among the outer one's, and as its own.
  if (const auto* outer = dynamic_cast<const optimizers::LossScalingOptimizer*>(&optimizer)) {
    write_optimizer(*outer->inner_optimizer(), place + "/inner_optimizer", file);
  }
}

void save_weights_file(const Model& model, const std::string& path, bool overwrite) {
  require_may_write(path, overwrite);
  write_hdf5_atomically(path, bytes_of_weights(model), [&](Hdf5File& file) { write_weights(model, file); });
}

void load_weights_file(Model& model, const std::string& path, const LoadWeightsOptions& options) {
  refuse_by_name(path, options);
  read_weights(model, Hdf5File::open(path), options.skip_mismatch);
}

// No save and load: as in Keras, a whole model that is saved as "x.weights.h5" is a legacy .h5 file.
[[maybe_unused]] const bool weights_file_registered = register_model_format(
    {.ending = ".weights.h5", .save_weights = save_weights_file, .load_weights = load_weights_file});

}  // namespace

std::uint64_t bytes_of_weights(const Model& model) {
  Variables variables = model.weights();
  if (model.compiled() && model.optimizer()) {
    const Variables& state = model.optimizer()->variables();
    variables.insert(variables.end(), state.begin(), state.end());
  }
  std::uint64_t bytes = 0;
  for (const Variable& variable : variables) {
    bytes += static_cast<std::uint64_t>(variable.shape().num_elements()) * size_of(variable.dtype());
  }
  return bytes;
}

Hdf5File create_hdf5(AtomicFile& whole, const std::string& name, std::uint64_t offset, std::uint64_t bytes) {
  // A disk that is full in the middle would leave HDF5 with a file it can neither write nor close: there must be room
  // before it begins, and again behind its emptying the file.
  whole.reserve(bytes);
  Hdf5File file = Hdf5File::create(whole.temporary(), name, offset);
  whole.reserve(bytes);
  return file;
}

void write_hdf5_atomically(const std::string& path, std::uint64_t bytes, const std::function<void(Hdf5File&)>& write) {
  AtomicFile whole(path);
  Hdf5File file = create_hdf5(whole, path, 0, bytes);
  write(file);
  file.close();
  whole.commit();
}

void write_weights(const Model& model, Hdf5File& file) {
  for (const ConstWeightGroup& group : weight_groups(model)) {
    file.create_group(group.path);
    file.set_attribute(group.path, "name", group.layer->name());
    int number = 0;
    for (const Variable& variable : group.variables)
      file.write(group.path + "/" + std::to_string(number++), read_now(variable));
    if (const auto* more = dynamic_cast<const HasAssets*>(group.layer)) {
      for (const auto& [name, value] : more->assets().values) file.write(below_layer(group.path, name), value);
    }
  }
  if (model.compiled() && model.optimizer() && model.optimizer()->built()) {
    write_optimizer(*model.optimizer(), "optimizer", file);
  }
}

void refuse_by_name(const std::string& path, const LoadWeightsOptions& options) {
  if (options.by_name) {
    throw invalid_argument("Model.load_weights", "by_name is for legacy .h5 files", {{"path", path}},
                           "Leave by_name out.");
  }
}

void read_weights(Model& model, const Hdf5File& file, bool skip_mismatch) {
  if (file.has_attribute("", "layer_names") || file.exists("model_weights")) {
    throw invalid_argument("Model.load_weights", "weights in Keras 3's layout are expected", {{"file", file.name()}},
                           "The file has the legacy layout: give it a name that ends in .h5 and not in .weights.h5.");
  }
  WeightPlan plan;
  std::vector<std::string> skipped;
  std::string reason;
  for (const WeightGroup& group : weight_groups(model)) {
    if (group.variables.empty()) continue;
    const std::string who = group.layer->title();
    const auto add = [&](WeightPlan& mine) { plan_group(file, group.path, who, group.variables, mine); };
    if (!skip_mismatch) {
      add(plan);
      continue;
    }
    plan.attempt(add, [&](const Error& error) {
      if (skipped.empty()) reason = error.what();
      skipped.push_back(who);
    });
  }
  plan_optimizer(model, file, plan);
  plan.write();
  warn_of_skipped(skipped, reason);
}

void warn_of_skipped(const std::vector<std::string>& skipped, const std::string& reason) {
  if (skipped.empty()) return;
  log::warn("Model.load_weights: " + std::to_string(skipped.size()) + " objects keep their weights: " + join(skipped) +
            ". The first, because " + reason);
}

}  // namespace cohort
