#pragma once

#include <string>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// What tf_records takes besides the files.
struct TFRecordsOptions {
  // How the files are packed: "", "GZIP" or "ZLIB".
  std::string compression = {};
  // Lets records be reached by number, as rows in memory are: shuffles of all of them, shards, `skip` and positions
  // then cost no reading. It takes files that are not packed, and where each record begins: the lengths in the files
  // are walked when the dataset is made, and again before the first record is read.
  bool indexed = false;
  // Instead of walking, for each file one of lines "offset bytes", a line for each record, as tfrecord2idx writes them.
  // Records that it leaves out are none of the dataset's.
  std::vector<std::string> index_files = {};
};

// The records of TFRecord files, one file after the other, as scalar strings; their sums are checked. One whose bytes
// do not fit their sum is an error in its place. So is, once, what follows a length that does not fit its sum, or an
// end of the file inside a record: the rest of that file is lost, and the next file follows. Records over 1 GiB are
// refused.
//   files: their paths; each must be there, and is expected to keep its size.
Dataset tf_records(std::vector<std::string> files, TFRecordsOptions options = {});

}  // namespace cohort::datasets
