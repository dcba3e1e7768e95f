#include "cohort/saving/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cohort/core/error.h"

namespace cohort {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }
  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }

 private:
  int number_;
};

Error failure(const std::string& path, std::string_view expected) {
  return Error(ErrorCode::ResourceExhausted, "file '" + path + "'", expected, {{"error", std::strerror(errno)}},
               "See that the folder is writable and the disk not full.");
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void write_file_atomically(const std::string& path, std::string_view bytes) {
  static std::atomic<int> files{0};
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);

  const std::string temporary = path + ".tmp." + std::to_string(getpid()) + "." + std::to_string(files++);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.valid()) throw failure(path, "a file must be made beside it");
  const bool written = write_all(file.get(), bytes) && ::fsync(file.get()) == 0 && file.close() &&
                       ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!written) {
    const Error error = failure(path, "must be written");
    ::unlink(temporary.c_str());
    throw error;
  }
  // Without this the new name itself may be lost with the power. Some file systems cannot sync a folder: no error.
  const Descriptor place(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (place.valid()) ::fsync(place.get());
}

std::string read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file.valid() || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    throw not_found("file '" + path + "'", "a file that can be read is expected",
                    {{"error", file.valid() ? "not a file" : std::strerror(errno)}});
  }
  std::string bytes(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw Error(ErrorCode::DataLoss, "file '" + path + "'", "must be readable to its end");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace cohort
