#pragma once

#include <string>
#include <string_view>

#include "cohort/config/configurable.h"

namespace cohort {

// The object as Keras 3 writes it: {"module": ..., "class_name": ..., "config": {...}, "registered_name": ...}, or a
// plain string for an object with a short name.
std::string to_json(const Configurable& object);
// Only its config, as Keras's get_config() returns it.
std::string config_to_json(const Configurable& object);
// Sets the object's fields from its JSON, whole or config only. Fields that are not mentioned keep their values. Throws
// InvalidArgument for a value of another type, an unknown key, another class or text that is not JSON.
void from_json(Configurable& object, std::string_view json);

}  // namespace cohort
