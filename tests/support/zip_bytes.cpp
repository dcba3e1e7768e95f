#include "tests/support/zip_bytes.h"

#include <zlib.h>

#include <cstdint>

namespace cohort::test {
namespace {

void append_number(std::string& bytes, std::uint64_t value, int width) {
  for (int i = 0; i < width; ++i, value >>= 8) bytes += static_cast<char>(value & 0xff);
}

std::string deflated_bytes(const std::string& content) {
  std::string packed(compressBound(content.size()), '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

std::string zip_bytes(const ZipMembers& members, bool deflated) {
  std::string bytes, directory;
  for (const auto& [name, content] : members) {
    const std::string packed = deflated ? deflated_bytes(content) : content;
    std::string about;  // what stands both in front of the member and in the directory
    for (const std::uint64_t field : {20, 0x800, deflated ? 8 : 0, 0, 33}) append_number(about, field, 2);
    append_number(about, crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()), 4);
    for (const std::uint64_t size : {packed.size(), content.size()}) append_number(about, size, 4);
    append_number(about, name.size(), 2);
    append_number(about, 0, 2);

    directory += "PK\1\2";
    append_number(directory, 20, 2);
    directory += about;
    append_number(directory, 0, 10);
    append_number(directory, bytes.size(), 4);
    directory += name;
    bytes += "PK\3\4" + about + name + packed;
  }
  const std::size_t first = bytes.size();
  bytes += directory + "PK\5\6";
  for (const std::uint64_t field : {std::size_t{0}, std::size_t{0}, members.size(), members.size()}) {
    append_number(bytes, field, 2);
  }
  append_number(bytes, directory.size(), 4);
  append_number(bytes, first, 4);
  append_number(bytes, 0, 2);
  return bytes;
}

}  // namespace cohort::test
