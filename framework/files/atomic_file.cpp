#include "cohort/files/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }

 private:
  int number_;
};

Error failure(const std::string& path, std::string_view expected) {
  return Error(ErrorCode::ResourceExhausted, titled("file", path), expected, {{"error", std::strerror(errno)}},
               "See that the folder is writable and the disk not full.");
}

std::string folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

constexpr std::string_view kTemporaryMark = ".tmp.";

// A writer holds a lock on its file, which the system takes from it however it ends. False when somebody took the file
// for a leftover before.
bool claim(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;  // some file systems have no locks
  struct stat about {};
  return ::fstat(descriptor, &about) != 0 || about.st_nlink > 0;
}

// What killed writers of this file have left.
void remove_leftovers(const std::string& path) {
  const std::string begin = std::filesystem::path(path).filename().string() + std::string(kTemporaryMark);
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(path), problem)) {
    if (!entry.path().filename().string().starts_with(begin)) continue;
    const Descriptor leftover(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    if (leftover.valid() && ::flock(leftover.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
  }
}

constexpr std::size_t kStagedBytes = std::size_t{1} << 20;
constexpr std::uint64_t kWritebackBytes = std::uint64_t{8} << 20;

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  static std::atomic<int> files{0};
  std::error_code problem;
  std::filesystem::create_directories(folder_of(path_), problem);
  remove_leftovers(path_);
  do {
    if (descriptor_ >= 0) ::close(descriptor_);
    temporary_ = path_ + std::string(kTemporaryMark) + std::to_string(getpid()) + "." + std::to_string(files++);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor_ < 0) throw failure(path_, "a file must be made beside it");
  } while (!claim(descriptor_));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(std::string_view expected) { throw failure(path_, expected); }

void AtomicFile::append(std::string_view bytes) {
  if (staged_.size() + bytes.size() > kStagedBytes) flush();
  if (bytes.size() >= kStagedBytes) return write_out(bytes);
  staged_.insert(staged_.end(), bytes.begin(), bytes.end());
}

void AtomicFile::flush() {
  write_out({staged_.data(), staged_.size()});
  staged_.clear();
}

void AtomicFile::write_out(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t most = std::min<std::size_t>(bytes.size(), kWritebackBytes);
    const ssize_t written = ::write(descriptor_, bytes.data(), most);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("must be written");
    bytes.remove_prefix(static_cast<std::size_t>(written));
    written_ += static_cast<std::uint64_t>(written);
    // The disk works while the rest is being written; else the sync at the end would have all of it to wait for.
    if (written_ - on_its_way_ >= kWritebackBytes) {
      ::sync_file_range(descriptor_, static_cast<off_t>(on_its_way_), static_cast<off_t>(written_ - on_its_way_),
                        SYNC_FILE_RANGE_WRITE);
      on_its_way_ = written_;
    }
  }
}

void AtomicFile::reserve(std::uint64_t bytes) {
  constexpr std::uint64_t kMore = std::uint64_t{1} << 20;  // metadata
  struct rlimit most {};
  struct statvfs disk {};
  if (::getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY && bytes + kMore > most.rlim_cur) {
    errno = EFBIG;
    fail("must not be larger than files may be");
  }
  // Not every file system can set blocks aside.
  const int done =
      ::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(std::max<std::uint64_t>(bytes, 1)));
  const bool full = done != 0 && (errno == ENOSPC || errno == EDQUOT);
  const std::uint64_t missing = done == 0 ? kMore : bytes + kMore;
  if (full || (::fstatvfs(descriptor_, &disk) == 0 && disk.f_bavail * disk.f_frsize < missing)) {
    errno = ENOSPC;
    fail("must have room on the disk");
  }
}

void AtomicFile::start_writing_back() { ::sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE); }

void AtomicFile::commit() {
  flush();
  if (::fsync(descriptor_) != 0 || ::close(std::exchange(descriptor_, -1)) != 0 ||
      ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail("must be written");
  }
  temporary_.clear();
  sync_folder(folder_of(path_));
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.append(bytes);
  file.commit();
}

void sync_folder(const std::string& folder) {
  // Some file systems cannot sync a folder: no error.
  const Descriptor place(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (place.valid()) ::fsync(place.get());
}

std::string read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file.valid() || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    throw not_found(titled("file", path), "a file that can be read is expected",
                    {{"error", file.valid() ? "not a file" : std::strerror(errno)}});
  }
  std::string bytes(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw Error(ErrorCode::DataLoss, titled("file", path), "must be readable to its end");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace cohort
