#pragma once

#include <filesystem>
#include <string>

#include "cohort/core/error.h"

namespace cohort {

// Throws AlreadyExists when a file is there and may not be replaced.
inline void require_may_write(const std::string& path, bool overwrite) {
  if (!overwrite && std::filesystem::exists(path)) {
    throw Error(ErrorCode::AlreadyExists, "Model.save", "a file that is not there yet is expected", {{"path", path}},
                "Give overwrite = true to replace it.");
  }
}

}  // namespace cohort
