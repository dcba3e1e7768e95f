#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cohort/datasets/sources/source_file.h"

namespace cohort::datasets {

// What the header of a member of a tar file says.
struct TarMember {
  // Its bytes in the file, whatever the locale.
  std::string name;
  // Of its contents.
  std::uint64_t bytes = 0;
  // Where its first header begins, among the file's unpacked bytes.
  std::uint64_t offset = 0;
  // Neither a folder nor a link, and without holes.
  bool is_plain = true;
};

// Throws unless this library was built with libarchive.
//   who: names the source in errors.
void check_tar_is_known(const char* who);

// Walks the members of a tar file (ustar, pax or GNU's), which may be packed with gzip or zstd. Not thread-safe.
class TarMembers {
 public:
  // Opens a file; throws where it is not as it was.
  //   who: names the source in errors.
  //   offset: where the first header to be read begins, among the unpacked bytes: what is not packed is not read before
  //     that.
  TarMembers(const char* who, const InputFile& file, std::uint64_t offset);
  ~TarMembers();
  TarMembers(const TarMembers&) = delete;
  TarMembers& operator=(const TarMembers&) = delete;

  // Goes past the one before, and to the next; false at the end. What this and the functions below throw ends the file.
  bool next(TarMember& member);
  // The contents of the member at hand, of at most 1 GiB. Memory is taken as they come, not as the header says.
  void read(std::string& contents);
  // Goes past the contents of the member at hand, which are not read where that is possible.
  void pass();

 private:
  struct Reading;
  std::unique_ptr<Reading> reading_;
};

}  // namespace cohort::datasets
