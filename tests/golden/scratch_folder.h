#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "cohort/core/error.h"

namespace cohort::golden {

// An empty folder that is removed with everything in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    path_ = (std::filesystem::temp_directory_path() / "golden_check_XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) throw failed_precondition("golden_check", "a temporary folder must be made");
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace cohort::golden
