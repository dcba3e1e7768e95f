#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cohort/core/tensor.h"

namespace cohort {

class Hdf5File;

// The rows of a dataset of numbers along axis 0, read as they are needed. Thread-safe: chunks that are packed by
// deflate, shuffled or not, are unpacked outside the lock of the HDF5 library, several at a time, and the last ones are
// kept. Types become those of Hdf5File::read.
class Hdf5Rows {
 public:
  // Throws unless it is a dataset of numbers or truth values with at least one axis.
  //   file: an open one; it is kept open.
  //   path: of the dataset.
  Hdf5Rows(std::shared_ptr<const Hdf5File> file, const std::string& path);
  ~Hdf5Rows();
  Hdf5Rows(const Hdf5Rows&) = delete;

  // Of the whole dataset, axis 0 included.
  const TensorSpec& spec() const;
  // Writes one row.
  //   target: memory for it.
  void read(std::uint64_t row, char* target) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cohort
