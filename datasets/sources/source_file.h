#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/attributes.h"
#include "cohort/files/data_root.h"
#include "cohort/files/remote_file.h"

namespace cohort::datasets {

// A file as it was when its dataset was made.
struct InputFile {
  // Where it is.
  std::string path;
  // Its size.
  std::uint64_t bytes = 0;
  // Its number where the dataset was first made: a worker's part of the files keeps theirs.
  std::uint64_t number = 0;
  // Where whoever made the dataset lets it be read from.
  std::shared_ptr<const DataRoots> roots = data_roots_in_force();
};

// A regular file open for reading, or one behind an address (http://, https://, s3://). Nothing else is opened: neither
// a folder nor a pipe that would block. Reads are thread-safe.
class SourceFile {
 public:
  // For whoever makes a dataset; throws unless there is such a file.
  //   who: names the source in errors; so below.
  //   path: of the file.
  SourceFile(const char* who, const std::string& path) : SourceFile(who, path, std::nullopt, data_roots_in_force()) {}
  // A file of a dataset; throws unless it is there and has the size that it had.
  SourceFile(const char* who, const InputFile& file) : SourceFile(who, file.path, file.bytes, file.roots) {}
  ~SourceFile();
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;

  // Where it is.
  const std::string& path() const { return path_; }
  // Bytes it has; what is added to it later is not part of it.
  std::uint64_t size() const { return size_; }
  // For those who map it or read it by other means; -1 for one behind an address.
  int descriptor() const { return descriptor_; }
  // Fills memory with the bytes from `offset` on; how many, fewer than asked only where the file ends. Throws when it
  // has become shorter.
  std::size_t read_at(std::uint64_t offset, void* target, std::size_t bytes) const;

 private:
  SourceFile(const char* who, std::string path, std::optional<std::uint64_t> expected_bytes,
             const std::shared_ptr<const DataRoots>& roots);
  [[noreturn]] void unreadable(std::uint64_t offset, std::string_view problem) const;

  const char* who_;
  std::string path_;
  std::uint64_t size_ = 0;
  int descriptor_ = -1;
  std::unique_ptr<RemoteFile> remote_;
};

// Above the numbers of files that a dataset may have.
inline constexpr std::uint64_t kMostFileNumber = (std::uint64_t{1} << 24) - 1;
// What a record is known by: its file's number and its own in that file. So a part of the files draws what all of them
// together draw.
constexpr std::uint64_t record_key(const InputFile& file, std::uint64_t record) { return file.number << 40 | record; }
// Looks files up; throws unless there is one and each is a regular file that can be read.
std::vector<InputFile> find_input_files(const char* who, const std::vector<std::string>& paths);
// Files as attributes of a stage: "files" and "file_bytes". (A part of them has "file_numbers" too: see shard_for.)
void add_input_files(const std::vector<InputFile>& files, Attributes& attributes);
// And back; throws unless each has a size, and a number where there are such.
std::vector<InputFile> input_files_of(const char* who, const Attributes& attributes);

// How the bytes of a file are packed.
enum class Packing { None, Gzip, Zlib };
// The one of this name: "", "gzip" or "zlib", in tf.data's capitals too; throws for another.
Packing packing_of(const char* who, std::string_view compression);

// The bytes of a file from front to back, unpacked.
class SourceBytes {
 public:
  virtual ~SourceBytes() = default;
  // Fills memory with the next bytes; how many, fewer than asked only at the end or where what follows is damaged:
  // asked again, it throws DataLoss there.
  virtual std::size_t read(void* target, std::size_t bytes) = 0;
  // Goes past bytes; how many there were, as far as that is known without reading them.
  virtual std::uint64_t pass(std::uint64_t bytes) = 0;
};
// The bytes of a file, which must outlive them.
std::unique_ptr<SourceBytes> bytes_of(const char* who, const SourceFile& file, Packing packing);

}  // namespace cohort::datasets
