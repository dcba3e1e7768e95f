#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

// A file written from front to back so that, whenever the machine stops, the path holds the old content or the new,
// whole: under a temporary name beside it ("<path>.tmp.<process>.<number>") until commit(). Folders above it are made.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  // Without commit() nothing is left.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;

  void append(std::string_view bytes);
  std::uint64_t size() const { return written_ + staged_.size(); }
  // For those who write in another way: the file under its temporary name, to be closed before commit().
  const std::string& temporary() const { return temporary_; }
  // Throws when there is no room for that many bytes and their metadata; else sets blocks aside. For writers
  // that cannot cope with a full disk, as HDF5.
  void reserve(std::uint64_t bytes);
  // Lets the disk begin with what is written so far.
  void start_writing_back();
  // Syncs the file, gives it its name and syncs the folder.
  void commit();

 private:
  void write_out(std::string_view bytes);
  void flush();
  [[noreturn]] void fail(std::string_view expected);

  std::string path_, temporary_;
  std::vector<char> staged_;  // small pieces wait for each other
  std::uint64_t written_ = 0, on_its_way_ = 0;
  int descriptor_ = -1;
};

// The same for bytes at hand.
void write_file_atomically(const std::string& path, std::string_view bytes);

// Makes names given in a folder, and removals from it, outlast a power cut.
void sync_folder(const std::string& folder);

// The bytes of a file; throws NotFound.
std::string read_file(const std::string& path);

}  // namespace cohort
