#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cohort/files/atomic_file.h"

namespace cohort {

// What a zip archive is made of: one member that is written straight to its place in the file, however large, and small
// ones at hand.
struct StoredZip {
  using Member = std::pair<std::string, std::string>;  // name, bytes
  // Where the large member begins: room for the first member and both headers, and a place where HDF5 can begin.
  static constexpr std::uint64_t kLargeOffset = 512;
  Member first = {};
  std::string large_name = {};
  std::vector<Member> rest = {};
};

// Writes the archive around its large member, which the file at `path` holds from kLargeOffset to its end, and commits
// it. Nothing is compressed and there are no dates: equal members give equal bytes.
void write_stored_zip(AtomicFile& whole, const std::string& path, const StoredZip& archive);

}  // namespace cohort
