#include "cohort/saving/load_model.h"

#include "cohort/model/model_format.h"

namespace cohort {

Ref<Model> load_model(const std::string& path, LoadModelOptions options) {
  return model_format_function(path, "load_model", &ModelFormat::load)(path, options);
}

}  // namespace cohort
