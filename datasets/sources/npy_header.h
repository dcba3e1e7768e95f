#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cohort/core/tensor.h"

namespace cohort::datasets {

// What the header of a .npy file says about the array behind it.
struct NpyHeader {
  TensorSpec spec;        // of the array, once it is read
  char kind = 'f';        // NumPy's letter of its type: b, i, u, f
  std::size_t width = 4;  // bytes of one value in the file
  bool swapped = false;   // the other byte order
  bool column_major = false;
  std::uint64_t data_bytes = 0;  // of the array in the file

  // Whether the file's bytes are a tensor's.
  bool is_tensor() const { return !swapped && !column_major && width == size_of(spec.dtype); }
};

// Bytes that every .npy file begins with, enough to know how long its header is.
inline constexpr std::size_t kNpyPreamble = 12;
// How many bytes there are before the array; at most 1 MiB.
//   preamble: the first kNpyPreamble bytes.
//   name: what errors call the file.
std::size_t npy_header_bytes(std::string_view preamble, const std::string& name);
// Reads a header of version 1, 2 or 3. Integers that tensors do not have are widened; pickles, records and text are
// refused, and so is an array of no axes.
//   bytes: all before the array.
//   name: what errors call the file.
NpyHeader parse_npy_header(std::string_view bytes, const std::string& name);

}  // namespace cohort::datasets
