#pragma once

#include <string>
#include <string_view>

namespace cohort {

// Puts bytes into a file so that, whenever the machine stops, the path holds the old content or the new, whole: written
// under a temporary name beside it, synced, renamed, the folder synced. Folders above it are made.
void write_file_atomically(const std::string& path, std::string_view bytes);

// The bytes of a file; throws NotFound.
std::string read_file(const std::string& path);

}  // namespace cohort
