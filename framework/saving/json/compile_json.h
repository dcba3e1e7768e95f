#pragma once

#include "cohort/model/compile_options.h"
#include "cohort/saving/json/object_json.h"

namespace cohort {

// What a model was compiled with, as Keras's compile_config, and back.
Json compile_to_json(const CompileOptions& options);
CompileOptions compile_from_json(const Json& config);

}  // namespace cohort
