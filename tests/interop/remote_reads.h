#pragma once

#include <string>
#include <vector>

namespace cohort::interop {

// Prints the size of a remote file and the bytes at some offsets, or the error, for the Python test that serves it.
//   arguments: the address, then pairs of an offset and a number of bytes.
void print_remote_reads(const std::vector<std::string>& arguments);
// Prints how many records of 256 bytes a remote file has, read by a chain that another process has sent; or the error.
//   arguments: the address that such chains may read beneath, then that of the file.
void print_sent_records(const std::vector<std::string>& arguments);

}  // namespace cohort::interop
