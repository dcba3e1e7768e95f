#pragma once

#include <string_view>

namespace cohort {

// The Python class that Keras exports as `class_name`: its layers are named after it, and legacy files hold it.
std::string_view python_class_name(std::string_view class_name);

}  // namespace cohort
