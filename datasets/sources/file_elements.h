#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/data/dataset.h"
#include "cohort/datasets/sources/source_file.h"

namespace cohort::datasets {

// Reads a file as it was when its dataset was made; throws where it is not there, has changed or is too large.
//   who: names the source in errors.
//   most: bytes that are read at most.
void read_whole_file(const char* who, const InputFile& file, std::uint64_t most, std::string& contents);

// What makes elements of files, each of one. Thread-safe.
class FileReader {
 public:
  virtual ~FileReader() = default;
  // Fills `element` with the leaves of the element of a file, as DatasetIterator::next does.
  virtual void read(const InputFile& file, Tensors& element) const = 0;
};
// A stage with an element for each file, which can be reached by number.
//   spec: of an element.
std::shared_ptr<const DatasetStage> stage_of_files(std::vector<InputFile> files, ElementSpec spec,
                                                   std::shared_ptr<const FileReader> reader);

}  // namespace cohort::datasets
