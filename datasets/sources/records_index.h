#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/datasets/sources/source_file.h"

namespace cohort::datasets {

// Where a record begins in its file, and its bytes with what stands around them; 0: what begins there is no record, and
// nobody knows where the next would be.
struct RecordPlace {
  std::uint64_t offset = 0, bytes = 0;
};

// Finds the records of a TFRecord file that is not packed by their lengths alone.
//   who: names the source in errors.
std::vector<RecordPlace> find_records(const char* who, const InputFile& file);
// Reads where they are from a file of lines "offset bytes", as tfrecord2idx writes it; throws DataLoss, with the line,
// unless places like these can be in the file. Whether records begin there is not looked at.
//   who: names the source in errors.
//   index: the file of lines.
//   file: that of the records.
std::vector<RecordPlace> read_records_index(const char* who, const InputFile& index, const InputFile& file);

}  // namespace cohort::datasets
