#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/files/atomic_file.h"

namespace cohort {

// What a zip archive is made of: one member that is written straight to its place in the file, however large, and small
// ones at hand.
struct StoredZip {
  using Member = std::pair<std::string, std::string>;  // name, bytes
  Member first = {};
  std::string large_name = {};
  // Writes the member's bytes into the file behind the first `offset` ones, to its end.
  std::function<void(AtomicFile& file, std::uint64_t offset)> write_large = {};
  std::vector<Member> rest = {};
};

// Writes the archive, nothing compressed and without dates: equal members give equal bytes. Whole or not at all.
void write_stored_zip(const std::string& path, const StoredZip& archive);

}  // namespace cohort
