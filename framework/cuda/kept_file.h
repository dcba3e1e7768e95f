#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cohort::cuda {

// FNV-1a of bytes that follow those of another hash.
std::uint64_t hash_of(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325u);
// 16 digits.
std::string in_hex(std::uint64_t number);

// What was kept in a folder for this very key, in a file whose name ends so; empty when there is nothing, or it is
// damaged.
std::string read_kept(const std::string& folder, const std::string& key, const std::string& ending);
// Keeps bytes for a key. A folder that cannot be written to costs time in the next process, nothing else. Thread-safe,
// between processes, too.
void write_kept(const std::string& folder, const std::string& key, const std::string& ending, const std::string& bytes);

}  // namespace cohort::cuda
