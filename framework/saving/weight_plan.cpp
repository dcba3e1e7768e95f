#include "cohort/saving/weight_plan.h"
#include "cohort/core/error.h"

namespace cohort {
namespace {

template <class T>
Tensor narrowed(const Tensor& value) {
  const std::vector<float> wide = value.to_vector<float>();
  return Tensor::of(std::vector<T>(wide.begin(), wide.end()), value.shape(), cpu());
}

}  // namespace

Tensor converted_for(const Tensor& value, DType dtype, const std::string& who) {
  if (value.dtype() == dtype) return value;
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

void WeightPlan::add(const Hdf5File& file, const std::string& path, const Variable& variable, const std::string& who) {
  const TensorSpec spec = file.spec(path);
  if (spec.shape != variable.shape()) {
    throw Error(ErrorCode::DataLoss, who, "a stored weight must have the weight's shape",
                {{"file", file.name()}, {"path", path}, {"stored", spec.shape}, {"expected", variable.shape()}},
                "The file belongs to another model.");
  }
  if (spec.dtype == DType::String) {
    throw Error(ErrorCode::DataLoss, who, "a stored weight must be numbers", {{"file", file.name()}, {"path", path}});
  }
  assignments_.push_back({variable, converted_for(file.read(path), variable.dtype(), who)});
}

void WeightPlan::attempt(const std::function<void(WeightPlan&)>& add, const std::function<void(const Error&)>& failed) {
  const std::size_t before = assignments_.size();
  try {
    add(*this);
  } catch (const Error& error) {
    assignments_.resize(before);
    failed(error);
  }
}

void WeightPlan::write() const {
  for (const Assignment& each : assignments_) write_now(each.variable, each.value);
}

}  // namespace cohort
