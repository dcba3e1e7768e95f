#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::datasets::test {

constexpr std::size_t kTarBlock = 512;

// A header of a tar file.
//   kind: '0' a file, '5' a folder, '2' a link, 'x' a pax header, 'L' a long name of GNU's.
inline std::string tar_header(const std::string& name, std::uint64_t bytes, char kind = '0') {
  std::string header(kTarBlock, '\0');
  const auto put = [&](std::size_t at, std::string_view text) { header.replace(at, text.size(), text); };
  char digits[16];
  std::snprintf(digits, sizeof digits, "%011llo", static_cast<unsigned long long>(bytes));
  put(0, std::string_view(name).substr(0, 100));
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, digits);
  put(136, "00000000000");
  put(148, "        ");
  header[156] = kind;
  if (kind == '2') put(157, "target");
  put(257, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const unsigned char byte : header) sum += byte;
  std::snprintf(digits, sizeof digits, "%06o", sum);
  put(148, std::string_view(digits, 7));
  return header;
}
// A member with its contents.
inline std::string tar_member(const std::string& name, const std::string& contents, char kind = '0') {
  return tar_header(name, contents.size(), kind) + contents +
         std::string((kTarBlock - contents.size() % kTarBlock) % kTarBlock, '\0');
}
// A member whose name stands in a pax header, as Python's tarfile writes long and foreign ones.
inline std::string pax_member(const std::string& name, const std::string& contents) {
  std::size_t length = name.size() + 7;  // "path=", a space and the end
  length += std::to_string(length + std::to_string(length).size()).size();
  const std::string record = std::to_string(length) + " path=" + name + "\n";
  return tar_member("PaxHeader", record, 'x') + tar_member("short", contents);
}
// A whole file of members.
inline std::string tar_of(const std::vector<std::string>& members) {
  std::string bytes;
  for (const std::string& member : members) bytes += member;
  return bytes + std::string(2 * kTarBlock, '\0');
}

// Bytes as zstd packs them where it finds nothing to save: a frame with a window of 1 MiB and blocks as they are.
inline std::string zstd_packed(const std::string& bytes) {
  constexpr std::size_t kMostOfBlock = 1000;
  std::string packed("\x28\xb5\x2f\xfd\x00\x50", 6);
  for (std::size_t at = 0; at < bytes.size() || at == 0; at += kMostOfBlock) {
    const std::string block = bytes.substr(at, kMostOfBlock);
    const std::size_t header = block.size() << 3 | (at + kMostOfBlock >= bytes.size() ? 1 : 0);
    for (int i = 0; i < 3; ++i) packed.push_back(static_cast<char>(header >> (8 * i)));
    packed += block;
  }
  return packed;
}

}  // namespace cohort::datasets::test
