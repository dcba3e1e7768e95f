#pragma once

#include <string>

#include "cohort/model/model_format.h"

namespace cohort::programs {

// The registered format of a path that is read, or written: a whole model or weights alone. Throws InvalidArgument for
// an ending of none, as `who`.
const ModelFormat& format_to_read(const std::string& path, const std::string& who);
const ModelFormat& format_to_write(const std::string& path, const std::string& who);
// True for two endings of one format.
bool same_format(const ModelFormat& a, const ModelFormat& b);

// Whether the file has an architecture: throws NotFound when there is no file.
bool holds_model(const std::string& path, const ModelFormat& format);

}  // namespace cohort::programs
