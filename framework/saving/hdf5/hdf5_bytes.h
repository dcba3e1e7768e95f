#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/saving/hdf5/hdf5_handle.h"

namespace cohort {

// The bytes of an open HDF5 file as they lie there, for checks of what the library believes without looking. Positions
// are those of the file format: from the end of the user block.
class Hdf5Bytes {
 public:
  explicit Hdf5Bytes(hid_t file);

  // Nothing where the file ends before, or cannot be read.
  std::optional<std::string> at(std::uint64_t position, std::uint64_t count) const;
  std::uint64_t size() const { return size_; }
  // True where positions and lengths take 8 bytes, as in all files of h5py and ours.
  bool wide() const { return wide_; }

 private:
  int descriptor_ = -1;
  const char* memory_ = nullptr;
  std::uint64_t begin_ = 0, size_ = 0;
  bool wide_ = false;
};

// A number of `width` bytes, little-endian, at a place that is known to be in `bytes`.
std::uint64_t number_at(const std::string& bytes, std::size_t place, std::size_t width);

}  // namespace cohort
