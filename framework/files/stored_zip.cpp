#include "cohort/files/stored_zip.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/files/atomic_file.h"

namespace cohort {
namespace {

constexpr std::uint64_t kLargest32 = 0xffffffff;
constexpr std::uint16_t kZip64Field = 0x0001, kPaddingField = 0xd935;
constexpr std::uint16_t kFirstDate = 33;  // 1980-01-01

struct ZipEntry {
  std::string name;
  std::uint64_t header = 0, size = 0;
  std::uint32_t checksum = 0;
};

class ZipPacker {
 public:
  template <class T>
  ZipPacker& put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
  ZipPacker& text(const std::string& text) {
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

std::uint32_t low32(std::uint64_t value) { return static_cast<std::uint32_t>(std::min(value, kLargest32)); }
std::uint16_t length16(const std::string& text) { return static_cast<std::uint16_t>(text.size()); }

// What the header before a member and its line in the directory have in common.
void put_common(ZipPacker& to, const ZipEntry& entry, bool wide, std::size_t extra) {
  const bool ascii = std::all_of(entry.name.begin(), entry.name.end(), [](char c) { return (c & 0x80) == 0; });
  to.put<std::uint16_t>(wide ? 45 : 20).put<std::uint16_t>(ascii ? 0 : 0x800).put<std::uint16_t>(0);
  to.put<std::uint16_t>(0).put<std::uint16_t>(kFirstDate).put<std::uint32_t>(entry.checksum);
  to.put<std::uint32_t>(low32(entry.size)).put<std::uint32_t>(low32(entry.size));
  to.put<std::uint16_t>(length16(entry.name)).put<std::uint16_t>(static_cast<std::uint16_t>(extra));
}

// A header filled up to `bytes`, if that is not 0.
std::string local_header(const ZipEntry& entry, std::size_t bytes = 0) {
  const bool wide = entry.size >= kLargest32;
  ZipPacker extra;
  if (wide) extra.put(kZip64Field).put<std::uint16_t>(16).put(entry.size).put(entry.size);
  const std::size_t length = 30 + entry.name.size() + extra.bytes().size();
  if (bytes > 0) {
    if (length + 4 > bytes) throw internal_error("zip archive", "a header must fit before its member");
    extra.put(kPaddingField).put(static_cast<std::uint16_t>(bytes - length - 4));
    extra.text(std::string(bytes - length - 4, '\0'));
  }
  ZipPacker header;
  header.put<std::uint32_t>(0x04034b50);
  put_common(header, entry, wide, extra.bytes().size());
  return header.text(entry.name).text(extra.bytes()).bytes();
}

std::string directory_line(const ZipEntry& entry) {
  ZipPacker wide;
  if (entry.size >= kLargest32) wide.put(entry.size).put(entry.size);
  if (entry.header >= kLargest32) wide.put(entry.header);
  ZipPacker extra;
  if (!wide.bytes().empty()) extra.put(kZip64Field).put(length16(wide.bytes())).text(wide.bytes());
  ZipPacker line;
  line.put<std::uint32_t>(0x02014b50).put<std::uint16_t>(3 << 8 | 45);
  put_common(line, entry, !wide.bytes().empty(), extra.bytes().size());
  line.put<std::uint16_t>(0).put<std::uint16_t>(0).put<std::uint16_t>(0).put<std::uint32_t>(0600u << 16);
  return line.put(low32(entry.header)).text(entry.name).text(extra.bytes()).bytes();
}

std::string zip_directory(const std::vector<ZipEntry>& entries, std::uint64_t begin) {
  ZipPacker all;
  for (const ZipEntry& entry : entries) all.text(directory_line(entry));
  const std::uint64_t size = all.bytes().size(), count = entries.size();
  if (begin >= kLargest32 || count >= 0xffff) {
    const std::uint64_t here = begin + size;
    all.put<std::uint32_t>(0x06064b50).put<std::uint64_t>(44).put<std::uint16_t>(3 << 8 | 45).put<std::uint16_t>(45);
    all.put<std::uint32_t>(0).put<std::uint32_t>(0).put(count).put(count).put(size).put(begin);
    all.put<std::uint32_t>(0x07064b50).put<std::uint32_t>(0).put(here).put<std::uint32_t>(1);
  }
  const auto count16 = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, 0xffff));
  all.put<std::uint32_t>(0x06054b50).put<std::uint16_t>(0).put<std::uint16_t>(0).put(count16).put(count16);
  return all.put(low32(size)).put(low32(begin)).put<std::uint16_t>(0).bytes();
}

std::uint32_t zip_checksum(const std::string& bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// A file open for reading and for writing at places.
class ReopenedZip {
 public:
  ReopenedZip(const std::string& path, const std::string& name) : name_(name) {
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat about {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &about) != 0) fail();
    size_ = static_cast<std::uint64_t>(about.st_size);
  }
  ~ReopenedZip() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  ReopenedZip(const ReopenedZip&) = delete;
  std::uint64_t size() const { return size_; }

  void write(std::uint64_t place, std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t done = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(place));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail();
      bytes.remove_prefix(static_cast<std::size_t>(done));
      place += static_cast<std::uint64_t>(done);
    }
  }

  std::uint32_t checksum_from(std::uint64_t place) const {
    std::string buffer(std::size_t{1} << 20, '\0');
    uLong sum = 0;
    while (place < size_) {
      const ssize_t got = ::pread(descriptor_, buffer.data(), buffer.size(), static_cast<off_t>(place));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) fail();
      sum = crc32_z(sum, reinterpret_cast<const Bytef*>(buffer.data()), static_cast<z_size_t>(got));
      place += static_cast<std::uint64_t>(got);
    }
    return static_cast<std::uint32_t>(sum);
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorCode::ResourceExhausted, titled("zip archive", name_), "must be written",
                {{"error", std::strerror(errno)}}, "See that the folder is writable and the disk not full.");
  }
  std::string name_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace

void write_stored_zip(AtomicFile& whole, const std::string& path, const StoredZip& archive) {
  constexpr std::uint64_t kLargeOffset = StoredZip::kLargeOffset;
  const ReopenedZip file(whole.temporary(), path);
  whole.start_writing_back();  // while the checksum is made

  ZipEntry first{archive.first.first, 0, archive.first.second.size(), zip_checksum(archive.first.second)};
  const std::string first_bytes = local_header(first) + archive.first.second;
  ZipEntry large{archive.large_name, first_bytes.size(), file.size() - kLargeOffset, file.checksum_from(kLargeOffset)};
  file.write(0, first_bytes + local_header(large, kLargeOffset - first_bytes.size()));

  std::vector<ZipEntry> entries = {std::move(first), std::move(large)};
  std::uint64_t end = file.size();
  for (const auto& [name, bytes] : archive.rest) {
    entries.push_back({name, end, bytes.size(), zip_checksum(bytes)});
    const std::string member = local_header(entries.back()) + bytes;
    file.write(end, member);
    end += member.size();
  }
  file.write(end, zip_directory(entries, end));
  whole.commit();
}

}  // namespace cohort
