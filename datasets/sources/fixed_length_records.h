#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// What fixed_length_records takes besides the files and the size.
struct FixedLengthRecordsOptions {
  // Bytes left out at the beginning of each file.
  std::int64_t header_bytes = 0;
  // Bytes left out at the end of each file.
  std::int64_t footer_bytes = 0;
  // How the files are packed: "", "gzip" or "zlib".
  std::string compression = "";
  // Give records as uint8 (record_bytes,) that a batch reads straight into its rows, not as strings.
  bool as_bytes = false;
};

// Records of equal size, one file after the other, as strings. Those of files that are not packed can be reached by
// number: a shuffle passes numbers, and restoring a position costs nothing. The files must not change meanwhile.
//   files: regular files of whole records, read where the dataset is walked.
//   record_bytes: size of a record, at least 1.
Dataset fixed_length_records(const std::vector<std::string>& files, std::int64_t record_bytes,
                             const FixedLengthRecordsOptions& options = {});
// The records of one file.
Dataset fixed_length_records(const std::string& file, std::int64_t record_bytes,
                             const FixedLengthRecordsOptions& options = {});

}  // namespace cohort::datasets
