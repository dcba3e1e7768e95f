#pragma once

#include <string>

namespace cohort::programs {

enum class FileFormat {
  Archive,  // .keras: a whole model
  Legacy,   // .h5: a whole model as Keras wrote it before, or its weights alone
  Weights,  // .weights.h5
};

// What a path's ending says; throws InvalidArgument for any other, as `who`.
FileFormat format_of(const std::string& path, const std::string& who);

// Whether the file has an architecture: throws NotFound when there is no file.
bool holds_model(const std::string& path, FileFormat format);

}  // namespace cohort::programs
