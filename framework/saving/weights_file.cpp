#include "cohort/saving/weights_file.h"

#include <algorithm>
#include <map>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/model/sequential.h"
#include "cohort/saving/atomic_file.h"
#include "cohort/saving/overwrite.h"

namespace cohort {
namespace {

std::string join(const std::string& path, const std::string& name) { return path.empty() ? name : path + "/" + name; }

// A layer's own weights in Keras's order: those made trainable first, frozen or not.
Variables own_variables(const Layer& layer) {
  Variables variables = layer.weights();  // its own before its sub-layers'
  variables.resize(layer.own_weights().size());
  return variables;
}

// By name, private ones last.
bool visited_before(const std::string& a, const std::string& b) {
  const bool a_is_private = a.starts_with("_"), b_is_private = b.starts_with("_");
  return a_is_private != b_is_private ? b_is_private : a < b;
}

// Calls visit(path, layer) for a layer and all below it, each once, under the paths Keras gives them: attribute names,
// and in a model's list of layers the class names, counted.
template <class Visit>
void walk(const Layer& layer, const std::string& path, std::vector<const Layer*>& seen, const Visit& visit) {
  if (std::find(seen.begin(), seen.end(), &layer) != seen.end()) return;
  seen.push_back(&layer);
  visit(path, layer);
  const auto* model = dynamic_cast<const Model*>(&layer);
  const auto walk_list = [&] {
    std::map<std::string, int> counts;
    for (const Ref<Layer>& each : model->layers()) {
      std::string name = snake_case_name(each->class_name());
      if (const int count = counts[name]++; count > 0) name += "_" + std::to_string(count);
      walk(*each, join(path, "layers/" + name), seen, visit);
    }
  };
  // A model that computes in code has its list as one attribute among others: what sorts before "layers" is stored
  // under its own name, the rest in the list.
  const bool list_first = model && (model->functional() || dynamic_cast<const Sequential*>(model));
  bool list_due = model && !list_first;
  if (list_first) walk_list();
  std::vector<std::pair<std::string, Ref<Layer>>> attributes = layer.sublayers();
  std::stable_sort(attributes.begin(), attributes.end(),
                   [](const auto& a, const auto& b) { return visited_before(a.first, b.first); });
  for (const auto& [name, each] : attributes) {
    if (list_due && visited_before("layers", name)) {
      walk_list();
      list_due = false;
    }
    walk(*each, join(path, name), seen, visit);
  }
  if (list_due) walk_list();
}

// What a file says about some variables: checked now, written once everything is.
struct Assignment {
  Variable variable;
  Tensor value;
};

template <class T>
Tensor narrowed(const Tensor& value) {
  const std::vector<float> wide = value.to_vector<float>();
  return Tensor::of(std::vector<T>(wide.begin(), wide.end()), value.shape(), cpu());
}

// The same values in another type: files may hold a wider or narrower one than the model.
Tensor converted(const Tensor& value, DType dtype, const std::string& who) {
  switch (dtype) {
    case DType::Float32:
      return Tensor::of(value.to_vector<float>(), value.shape(), cpu());
    case DType::Float64:
      return Tensor::of(value.to_vector<double>(), value.shape(), cpu());
    case DType::Float16:
      return narrowed<Half>(value);
    case DType::BFloat16:
      return narrowed<BFloat16>(value);
    case DType::Int32:
      return Tensor::of(value.to_vector<std::int32_t>(), value.shape(), cpu());
    case DType::Int64:
      return Tensor::of(value.to_vector<std::int64_t>(), value.shape(), cpu());
    default:
      throw Error(ErrorCode::DataLoss, who, "a stored weight must have a type like the weight's",
                  {{"stored", value.dtype()}, {"expected", dtype}});
  }
}

void plan_group(const Hdf5File& file, const std::string& group, const std::string& who, const Variables& variables,
                std::vector<Assignment>& plan) {
  const int stored = file.numbered_members(group);
  if (stored != static_cast<int>(variables.size())) {
    throw Error(ErrorCode::DataLoss, who, "the file must hold as many weights as the model has",
                {{"file", file.name()}, {"group", group}, {"stored", stored}, {"expected", variables.size()}},
                "The file belongs to another model.");
  }
  for (int i = 0; i < stored; ++i) {
    const Variable& variable = variables[static_cast<std::size_t>(i)];
    const std::string path = group + "/" + std::to_string(i);
    const TensorSpec spec = file.spec(path);
    if (spec.shape != variable.shape()) {
      throw Error(ErrorCode::DataLoss, who, "a stored weight must have the weight's shape",
                  {{"file", file.name()}, {"path", path}, {"stored", spec.shape}, {"expected", variable.shape()}},
                  "The file belongs to another model.");
    }
    Tensor value = file.read(path);
    if (value.dtype() != variable.dtype()) value = converted(value, variable.dtype(), who);
    plan.push_back({variable, std::move(value)});
  }
}

void plan_optimizer(Model& model, const Hdf5File& file, std::vector<Assignment>& plan) {
  if (!model.compiled() || !model.optimizer() || !file.exists("optimizer/vars")) return;
  Optimizer& optimizer = *model.optimizer();
  optimizer.ensure_built(model.trainable_variables());
  std::vector<Assignment> mine;
  try {
    plan_group(file, "optimizer/vars", optimizer.class_name(), optimizer.variables(), mine);
  } catch (const Error& error) {
    // As Keras does: the weights are worth having even when the optimizer was another.
    log::warn(std::string("the optimizer starts anew. ") + error.what());
    return;
  }
  plan.insert(plan.end(), mine.begin(), mine.end());
}

void save_weights_file(const Model& model, const std::string& path, bool overwrite) {
  require_may_write(path, overwrite);
  Hdf5File file = Hdf5File::create_image(path);
  write_weights(model, file);
  write_file_atomically(path, file.image());
}

void load_weights_file(Model& model, const std::string& path) { read_weights(model, Hdf5File::open(path)); }

[[maybe_unused]] const bool registered = register_model_saver(".weights.h5", {save_weights_file, load_weights_file});

}  // namespace

void write_weights(const Model& model, Hdf5File& file) {
  std::vector<const Layer*> seen;
  walk(model, "", seen, [&file](const std::string& path, const Layer& layer) {
    const std::string group = join(path, "vars");
    file.create_group(group);
    file.set_attribute(group, "name", layer.name());
    int number = 0;
    for (const Variable& variable : own_variables(layer))
      file.write(group + "/" + std::to_string(number++), read_now(variable));
  });
  if (!model.compiled() || !model.optimizer() || !model.optimizer()->built()) return;
  file.create_group("optimizer/vars");
  file.set_attribute("optimizer/vars", "name", model.optimizer()->name());
  int number = 0;
  for (const Variable& variable : model.optimizer()->variables()) {
    file.write("optimizer/vars/" + std::to_string(number++), read_now(variable));
  }
}

void read_weights(Model& model, const Hdf5File& file) {
  std::vector<Assignment> plan;
  std::vector<const Layer*> seen;
  walk(model, "", seen, [&](const std::string& path, const Layer& layer) {
    const Variables variables = own_variables(layer);
    if (variables.empty()) return;
    plan_group(file, join(path, "vars"), layer.class_name() + " '" + layer.name() + "'", variables, plan);
  });
  plan_optimizer(model, file, plan);
  for (const Assignment& each : plan) write_now(each.variable, each.value);
}

}  // namespace cohort
