#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// What text_lines takes besides the files.
struct TextLinesOptions {
  // How the files are packed: "", "gzip" or "zlib".
  std::string compression = "";
  // Lines left out at the beginning of each file.
  std::int64_t skip_header_lines = 0;
};

// The lines of text files, one file after the other, as strings without their ends: "\n" or "\r\n". Empty lines are
// elements too. The files must not change while the dataset is used.
//   files: regular files, read where the dataset is walked.
Dataset text_lines(const std::vector<std::string>& files, const TextLinesOptions& options = {});
// The lines of one file.
Dataset text_lines(const std::string& file, const TextLinesOptions& options = {});

}  // namespace cohort::datasets
