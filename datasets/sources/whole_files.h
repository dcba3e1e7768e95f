#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// What whole_files takes besides the files.
struct WholeFilesOptions {
  // Bytes of a file that are read at most; -1: all.
  std::int64_t max_length = -1;
};

// The contents of files, one string for each. A file that is gone or has changed since, or has more than 1 GiB to read,
// is an error in its place.
//   files: regular files, read where the dataset is walked.
Dataset whole_files(const std::vector<std::string>& files, const WholeFilesOptions& options = {});

}  // namespace cohort::datasets
