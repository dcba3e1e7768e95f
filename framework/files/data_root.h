#pragma once

#include <memory>
#include <string>
#include <vector>

namespace cohort {

// Folders that data may be read from, held open, and beginnings of addresses. Thread-safe.
class DataRoots;

// Throws unless each is a folder or an address.
//   roots: folders, and addresses (https://host/data/) beneath which files may be fetched; none: nothing may be read.
//     "/": there is no limit, and nullptr comes back.
//   hint: what to do about a file that is refused, for errors.
std::shared_ptr<const DataRoots> make_data_roots(const std::vector<std::string>& roots, std::string hint);

// While it lives, data sources that this thread makes are of a chain that somebody else has sent: they read beneath
// these roots alone, whichever thread reads them and however long. Scopes of a thread end in the reverse order.
class DataRootScope {
 public:
  //   roots: nullptr: no limit.
  explicit DataRootScope(std::shared_ptr<const DataRoots> roots);
  ~DataRootScope();
  DataRootScope(const DataRootScope&) = delete;
  DataRootScope& operator=(const DataRootScope&) = delete;

 private:
  std::shared_ptr<const DataRoots> before_;
};
// Those of this thread's scope, for sources to keep when they are made; nullptr: no limit.
std::shared_ptr<const DataRoots> data_roots_in_force();

// Opens a file of data for reading: a regular file. The descriptor is the caller's to close. Throws NotFound,
// PermissionDenied, InvalidArgument (no regular file) or Unavailable.
//   who: names the source in errors; so below.
//   path: with roots, relative to the first folder of them, or absolute and beneath one of them.
//   roots: what the source was made with; nullptr: no limit.
int open_data_file(const char* who, const std::string& path, const DataRoots* roots);

// Throws PermissionDenied unless the address is beneath one of the roots. What the server there says of other places
// does not count: whoever fetches under roots follows no redirection.
//   roots: nullptr: no limit.
void check_may_fetch(const char* who, const std::string& address, const DataRoots* roots);
// Throws PermissionDenied where roots are in force: a chain that somebody else has sent writes no files.
void check_may_write(const char* who, const std::string& path);

// For kernels without openat2: opens a path beneath a folder, one name after the other. Links and ".." are refused.
// -1 with errno where it cannot.
int open_beneath_by_names(int folder, const std::string& path);

}  // namespace cohort
