#pragma once

#include <string>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// What tf_records takes besides the files.
struct TFRecordsOptions {
  // How the files are packed: "", "GZIP" or "ZLIB".
  std::string compression = {};
};

// The records of TFRecord files, one file after the other, as scalar strings; their sums are checked. One whose bytes
// do not fit their sum is an error in its place. So is, once, what follows a length that does not fit its sum, or an
// end of the file inside a record: the rest of that file is lost, and the next file follows. Records over 1 GiB are
// refused.
//   files: their paths; each must be there, and is expected to keep its size.
Dataset tf_records(std::vector<std::string> files, TFRecordsOptions options = {});

}  // namespace cohort::datasets
