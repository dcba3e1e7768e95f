#include "cohort/files/zip_file.h"

#include <unistd.h>
#include <zip.h>

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort {
namespace {

// Deflate packs at most about 1032 bytes into one: what claims more lies.
constexpr std::uint64_t kMostOfDeflate = 1100;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

zip_t* libzip(void* archive) { return static_cast<zip_t*>(archive); }
zip_file_t* libzip_member(void* file) { return static_cast<zip_file_t*>(file); }

}  // namespace

ZipFile::ZipFile(int descriptor, std::string name) : name_(std::move(name)) {
  const int own = ::dup(descriptor);
  int error = 0;
  archive_ = own < 0 ? nullptr : zip_fdopen(own, 0, &error);
  if (archive_ == nullptr) {
    if (own >= 0) ::close(own);
    throw Error(ErrorCode::DataLoss, titled("zip archive", name_), "a whole zip archive is expected",
                {{"libzip's error", error}}, "Write the file again.");
  }
}

ZipFile::~ZipFile() { zip_discard(libzip(archive_)); }

std::vector<std::string> ZipFile::names() const {
  std::vector<std::string> result;
  const zip_int64_t count = zip_get_num_entries(libzip(archive_), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name = zip_get_name(libzip(archive_), static_cast<zip_uint64_t>(i), 0);
    if (name != nullptr) result.emplace_back(name);
  }
  return result;
}

std::unique_ptr<ZipFile::Member> ZipFile::open(const std::string& member) const {
  std::unique_ptr<Member> result(new Member);
  result->title_ = titled("zip archive", name_);
  result->name_ = member;
  const zip_int64_t index = zip_name_locate(libzip(archive_), member.c_str(), 0);
  if (index < 0) {
    throw not_found(result->title_, "a member of this name is expected",
                    {{"member", member}, {"members", join(names())}});
  }
  zip_stat_t about;
  zip_stat_init(&about);
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if (zip_stat_index(libzip(archive_), static_cast<zip_uint64_t>(index), 0, &about) != 0 ||
      (about.valid & kNeeded) != kNeeded) {
    result->damaged("a member must say its size");
  }
  const bool stored = about.comp_method == ZIP_CM_STORE;
  if ((stored && about.size != about.comp_size) || about.size / kMostOfDeflate > about.comp_size) {
    result->damaged("a member must have a size that its bytes can mean");
  }
  result->size_ = about.size;
  result->file_ = zip_fopen_index(libzip(archive_), static_cast<zip_uint64_t>(index), 0);
  if (result->file_ == nullptr) result->damaged("a member that can be unpacked is expected");
  return result;
}

ZipFile::Member::~Member() {
  if (file_ != nullptr) zip_fclose(libzip_member(file_));
}

void ZipFile::Member::read(void* target, std::size_t bytes) {
  auto* next = static_cast<char*>(target);
  while (bytes > 0) {
    const zip_int64_t got = zip_fread(libzip_member(file_), next, std::min(bytes, kMostAtOnce));
    if (got <= 0) damaged("a member must be whole");
    next += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

void ZipFile::Member::finish() {
  // Reading past the end makes libzip compare the sum.
  char beyond;
  if (zip_fread(libzip_member(file_), &beyond, 1) != 0) damaged("a member must be whole");
}

void ZipFile::Member::damaged(const char* expected) const {
  throw Error(ErrorCode::DataLoss, title_, expected, {{"member", name_}}, "Write the file again.");
}

}  // namespace cohort
