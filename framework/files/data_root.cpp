#include "cohort/files/data_root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/files/remote_file.h"

namespace cohort {
namespace {

// Opening a pipe would wait for its writer.
constexpr int kReadOnly = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;

std::string reason_of(int error) { return std::generic_category().message(error); }

// A folder that is held open: it stays the same one when its name is given to another.
class RootFolder {
 public:
  explicit RootFolder(const std::string& folder)
      : given_(std::filesystem::absolute(folder).lexically_normal()),
        descriptor_(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ < 0) {
      throw not_found("data_root", "a folder is expected", {{"folder", folder}, {"problem", reason_of(errno)}});
    }
    std::error_code ignored;
    real_ = std::filesystem::canonical(folder, ignored);
  }
  ~RootFolder() { ::close(descriptor_); }
  RootFolder(const RootFolder&) = delete;
  RootFolder& operator=(const RootFolder&) = delete;

  int descriptor() const { return descriptor_; }
  const std::filesystem::path& path() const { return given_; }
  // What follows the folder's name in an absolute path; none where it does not begin with it.
  std::optional<std::string> rest_of(const std::filesystem::path& path) const {
    for (const std::filesystem::path* folder : {&given_, &std::as_const(real_)}) {
      if (auto rest = behind(*folder, path)) return rest;
    }
    return std::nullopt;
  }

 private:
  static std::optional<std::string> behind(const std::filesystem::path& folder, const std::filesystem::path& path) {
    auto at = path.begin();
    for (const std::filesystem::path& name : folder) {
      if (name.empty()) continue;  // behind a last slash
      if (at == path.end() || *at != name) return std::nullopt;
      ++at;
    }
    std::filesystem::path rest;
    for (; at != path.end(); ++at) rest /= *at;
    if (folder.empty() || rest.empty()) return std::nullopt;
    return rest.string();
  }

  std::filesystem::path given_, real_;
  int descriptor_;
};

}  // namespace

class DataRoots {
 public:
  std::vector<std::unique_ptr<RootFolder>> folders;
  std::vector<std::string> addresses;  // each ends with a slash
  std::string hint;
};

namespace {

// Of this thread; see DataRootScope.
std::shared_ptr<const DataRoots>& roots_of_thread() {
  thread_local std::shared_ptr<const DataRoots> roots;
  return roots;
}

int open_beneath(int folder, const std::string& path) {
  constexpr int kMostTries = 16;
  open_how how{};
  how.flags = static_cast<std::uint64_t>(kReadOnly);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  long file = -1;
  // It gives up when names are moved about meanwhile.
  for (int tries = 0; tries < kMostTries; ++tries) {
    file = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
    if (file >= 0 || errno != EAGAIN) break;
  }
  // What guards containers answers EPERM to calls that it does not know.
  if (file < 0 && (errno == ENOSYS || errno == EPERM)) return open_beneath_by_names(folder, path);
  return static_cast<int>(file);
}

// Whether it says the same to whoever reads it: no name of a user, no step up, no character that is taken apart again
// or put into another form on its way.
bool is_plain_address(std::string_view address) {
  const std::size_t host = address.find("://");
  if (host == std::string_view::npos || address.find("//", host + 3) != std::string_view::npos) return false;
  if (address.size() == host + 3 || address[host + 3] == '/') return false;
  const auto unclear = [](char c) {
    return c <= ' ' || c > '~' || std::string_view("\\@#%?").find(c) != std::string_view::npos;
  };
  if (std::any_of(address.begin(), address.end(), unclear)) return false;
  for (std::size_t at = host + 3; at < address.size();) {
    const std::size_t end = std::min(address.find('/', at), address.size());
    const std::string_view name = address.substr(at, end - at);
    if (name == "." || name == "..") return false;
    at = end + 1;
  }
  return true;
}

std::string root_address(const std::string& address) {
  if (!is_plain_address(address)) {
    throw invalid_argument("data_root", "an address of a host and folders is expected, without user, query or escapes",
                           {{"address", address}});
  }
  return address.ends_with('/') ? address : address + "/";
}

[[noreturn]] void refuse(const char* who, const std::string& path, const DataRoots& roots) {
  std::vector<std::string> names = roots.addresses;
  for (const std::unique_ptr<RootFolder>& folder : roots.folders) names.push_back(folder->path().string());
  throw Error(ErrorCode::PermissionDenied, who, "a file that this process may read data from is expected",
              {{"file", path}, {"data_root", names.empty() ? "none" : join(names)}}, roots.hint);
}

int open_in(const char* who, const std::string& path, const DataRoots& roots) {
  if (roots.folders.empty() || path.empty()) refuse(who, path, roots);
  const std::filesystem::path asked(path);
  if (asked.is_relative()) return open_beneath(roots.folders.front()->descriptor(), path);
  for (const std::unique_ptr<RootFolder>& folder : roots.folders) {
    if (const auto rest = folder->rest_of(asked)) return open_beneath(folder->descriptor(), *rest);
  }
  refuse(who, path, roots);
}

}  // namespace

int open_beneath_by_names(int folder, const std::string& path) {
  int at = folder;
  const auto step = [&](const std::string& name, int flags) {
    const int next = ::openat(at, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC);
    const int error = errno;
    if (at != folder) ::close(at);
    errno = error == ELOOP ? EXDEV : error;
    return next;
  };
  std::vector<std::string> names;
  for (const std::filesystem::path& name : std::filesystem::path(path)) {
    if (name == ".." || name.is_absolute()) {
      errno = EXDEV;
      return -1;
    }
    if (!name.empty() && name != ".") names.push_back(name.string());
  }
  if (names.empty()) {
    errno = ENOENT;
    return -1;
  }
  for (std::size_t i = 0; i + 1 < names.size(); ++i) {
    at = step(names[i], O_PATH | O_DIRECTORY);
    if (at < 0) return -1;
  }
  return step(names.back(), kReadOnly);
}

int open_data_file(const char* who, const std::string& path, const DataRoots* roots) {
  const int file = roots ? open_in(who, path, *roots) : ::open(path.c_str(), kReadOnly);
  if (file < 0) {
    const int error = errno;
    if (roots && error == EXDEV) refuse(who, path, *roots);
    const ErrorCode code = error == ENOENT || error == ENOTDIR       ? ErrorCode::NotFound
                           : error == EACCES                         ? ErrorCode::PermissionDenied
                           : error == ELOOP || error == ENAMETOOLONG ? ErrorCode::InvalidArgument
                                                                     : ErrorCode::Unavailable;
    throw Error(code, who, "a file that can be read is expected", {{"file", path}, {"problem", reason_of(error)}});
  }
  struct stat about {};
  if (::fstat(file, &about) == 0 && S_ISREG(about.st_mode)) return file;
  ::close(file);
  throw invalid_argument(who, "a regular file is expected, not a folder, pipe or device", {{"file", path}});
}

std::shared_ptr<const DataRoots> make_data_roots(const std::vector<std::string>& roots, std::string hint) {
  auto result = std::make_shared<DataRoots>();
  result->hint = std::move(hint);
  bool everywhere = false;
  for (const std::string& root : roots) {
    if (RemoteFile::is_address(root)) {
      result->addresses.push_back(root_address(root));
      continue;
    }
    result->folders.push_back(std::make_unique<RootFolder>(root));
    everywhere |= result->folders.back()->path() == "/";
  }
  if (everywhere) return nullptr;
  return result;
}

DataRootScope::DataRootScope(std::shared_ptr<const DataRoots> roots)
    : before_(std::exchange(roots_of_thread(), std::move(roots))) {}

DataRootScope::~DataRootScope() { roots_of_thread() = std::move(before_); }

std::shared_ptr<const DataRoots> data_roots_in_force() { return roots_of_thread(); }

void check_may_fetch(const char* who, const std::string& address, const DataRoots* roots) {
  if (!roots) return;
  const bool beneath = std::any_of(roots->addresses.begin(), roots->addresses.end(), [&](const std::string& root) {
    return address.size() > root.size() && address.starts_with(root);
  });
  if (!beneath || !is_plain_address(address)) refuse(who, address, *roots);
}

void check_may_write(const char* who, const std::string& path) {
  if (!roots_of_thread()) return;
  throw Error(ErrorCode::PermissionDenied, who, "a dataset that another process has sent may write no files",
              {{"file", path}}, "Keep the elements in memory, or write the file before the job starts.");
}

}  // namespace cohort
