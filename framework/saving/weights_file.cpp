#include "cohort/saving/weights_file.h"

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/saving/atomic_file.h"
#include "cohort/saving/overwrite.h"
#include "cohort/saving/weight_groups.h"

namespace cohort {
namespace {

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

[[maybe_unused]] const bool weights_file_registered =
    register_model_saver(".weights.h5", {save_weights_file, load_weights_file});

}  // namespace

void write_weights(const Model& model, Hdf5File& file) {
  for (const WeightGroup& group : weight_groups(model)) {
    file.create_group(group.path);
    file.set_attribute(group.path, "name", group.layer->name());
    int number = 0;
    for (const Variable& variable : group.variables)
      file.write(group.path + "/" + std::to_string(number++), read_now(variable));
  }
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
  for (const WeightGroup& group : weight_groups(model)) {
    if (group.variables.empty()) continue;
    plan_group(file, group.path, group.layer->class_name() + " '" + group.layer->name() + "'", group.variables, plan);
  }
  plan_optimizer(model, file, plan);
  for (const Assignment& each : plan) write_now(each.variable, each.value);
}

}  // namespace cohort
