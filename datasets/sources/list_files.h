#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// What list_files takes besides the patterns.
struct ListFilesOptions {
  // Give the names in random order, another one in every epoch.
  bool shuffle = false;
  // Of that order.
  std::optional<std::int64_t> seed = std::nullopt;
};

// The names of the files that match a pattern, as scalar strings, sorted by their bytes: what interleave and flat_map
// read with DatasetFunction::registered. Readers of a file's name that every program knows:
//   "text_lines", "text_lines_gzip", "text_lines_zlib": text_lines;
//   "tf_records", "tf_records_gzip", "tf_records_zlib": tf_records;
//   "csv": csv with a header, every column a float32;
//   "npy", "npz": npy and npz.
// The files are looked up once, where the chain is made.
//   pattern: a name with *, ? and [...] in it; it must match at least one file.
Dataset list_files(const std::string& pattern, const ListFilesOptions& options = {});
// The files that match any of several patterns; each of these must match.
Dataset list_files(const std::vector<std::string>& patterns, const ListFilesOptions& options = {});

}  // namespace cohort::datasets
