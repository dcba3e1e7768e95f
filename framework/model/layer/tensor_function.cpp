#include "cohort/model/layer/tensor_function.h"

namespace cohort {

Registry<TensorFunction>& TensorFunction::registry() {
  static auto* registry = new Registry<TensorFunction>("function");
  return *registry;
}

bool register_function(const std::string& name, TensorFunction::Body body) {
  return TensorFunction::registry().add(
      name, [name, body = std::move(body)] { return std::make_shared<TensorFunction>(name, body); });
}

}  // namespace cohort
