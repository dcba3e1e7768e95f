#include "cohort/cuda/kept_file.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "cohort/files/crc32c.h"

namespace cohort::cuda {
namespace {

constexpr char kMagic[] = "cohort kept 001\n";

// A file is: this, the key, the bytes that are kept.
struct Preamble {
  char magic[sizeof kMagic - 1];
  std::uint64_t key_bytes, kept_bytes, checksum;  // the last is their CRC-32C
};

std::filesystem::path place_of(const std::string& folder, const std::string& key, const std::string& ending) {
  return std::filesystem::path(folder) / (in_hex(hash_of(key)) + ending);
}

}  // namespace

std::uint64_t hash_of(std::string_view bytes, std::uint64_t hash) {
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

std::string in_hex(std::uint64_t number) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
  return digits;
}

std::string read_kept(const std::string& folder, const std::string& key, const std::string& ending) {
  std::ifstream file(place_of(folder, key, ending), std::ios::binary);
  if (!file) return {};
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  Preamble preamble;
  if (bytes.size() < sizeof preamble + key.size()) return {};
  std::memcpy(&preamble, bytes.data(), sizeof preamble);
  if (std::memcmp(preamble.magic, kMagic, sizeof preamble.magic) != 0 || preamble.key_bytes != key.size() ||
      preamble.kept_bytes != bytes.size() - sizeof preamble - key.size() ||
      bytes.compare(sizeof preamble, key.size(), key) != 0) {
    return {};
  }
  std::string kept = bytes.substr(sizeof preamble + key.size());
  return crc32c(kept) == preamble.checksum ? kept : std::string();
}

void write_kept(const std::string& folder, const std::string& key, const std::string& ending,
                const std::string& bytes) {
  static std::atomic<int> number{0};
  const std::filesystem::path path = place_of(folder, key, ending);
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  const std::filesystem::path temporary =
      path.string() + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(number++);
  Preamble preamble{{}, key.size(), bytes.size(), crc32c(bytes)};
  std::memcpy(preamble.magic, kMagic, sizeof preamble.magic);
  {
    std::ofstream file(temporary, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&preamble), sizeof preamble);
    file << key << bytes;
    file.close();
    if (!file) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(temporary, path, error);
  if (error) std::filesystem::remove(temporary, error);
}

}  // namespace cohort::cuda
