#include "cohort/files/zip_archive.h"

#include <zip.h>

#include <cstdint>
#include <memory>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort {
namespace {

// Keras stores members as they are. One that was packed again by other means grows by this at most, unless it is small:
// what claims more is a bomb.
constexpr std::uint64_t kMaximumCompression = 100;
constexpr std::uint64_t kLargestDeflation = 1100;
constexpr std::uint64_t kSmallMember = std::uint64_t{64} << 20;

Error damaged(const std::string& name, std::string_view expected, std::string_view member = {}) {
  return Error(ErrorCode::DataLoss, titled("zip archive", name), expected, {{"member", member}});
}

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};

// `budget`: what all members together may still take.
std::string read_member(zip_t* archive, zip_uint64_t index, std::uint64_t archive_bytes, std::uint64_t& budget,
                        const std::string& name) {
  zip_stat_t about;
  zip_stat_init(&about);
  if (zip_stat_index(archive, index, 0, &about) != 0 || (about.valid & ZIP_STAT_SIZE) == 0) {
    throw damaged(name, "every member must say its size");
  }
  const bool stored = about.comp_method == ZIP_CM_STORE;
  if (about.comp_size > archive_bytes || (stored && about.size != about.comp_size) ||
      (about.size > kSmallMember && about.size / kMaximumCompression > about.comp_size) ||
      about.size / kLargestDeflation > about.comp_size || about.size > budget) {
    throw damaged(name, "a member must have a size that its bytes can mean", about.name);
  }
  budget -= about.size;
  const std::unique_ptr<zip_file_t, CloseMember> member(zip_fopen_index(archive, index, 0));
  std::string bytes(about.size, '\0');
  // Reading one byte past the end makes libzip check the sum.
  char beyond;
  if (!member || zip_fread(member.get(), bytes.data(), bytes.size()) != static_cast<zip_int64_t>(bytes.size()) ||
      zip_fread(member.get(), &beyond, 1) != 0) {
    throw damaged(name, "a member must be whole", about.name);
  }
  return bytes;
}

// Nothing is ever unpacked to a disk; a name that would lead out of a folder is refused all the same, for whoever does.
void check_member_name(const std::string& member, const std::string& archive) {
  const bool rooted = member.empty() || member[0] == '/' || member.find('\\') != std::string::npos ||
                      (member.size() > 1 && member[1] == ':');
  if (rooted || ("/" + member + "/").find("/../") != std::string::npos) {
    throw damaged(archive, "a member must have a name inside the archive", member);
  }
}

}  // namespace

ZipArchive ZipArchive::parse(const std::string& bytes, const std::string& name) {
  zip_error_t error;
  zip_error_init(&error);
  // libzip takes no bytes at all for an archive without members.
  zip_source_t* source = bytes.empty() ? nullptr : zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  Archive archive(source ? zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error) : nullptr);
  zip_error_fini(&error);
  if (!archive) {
    if (source) zip_source_free(source);
    throw Error(ErrorCode::DataLoss, titled("zip archive", name), "a whole zip archive is expected",
                {{"bytes", bytes.size()}});
  }
  ZipArchive result;
  result.name_ = name;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  std::uint64_t budget = kSmallMember + kMaximumCompression * bytes.size();
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const char* member = zip_get_name(archive.get(), index, 0);
    if (member == nullptr) throw damaged(name, "every member must have a name");
    check_member_name(member, name);
    if (result.has(member)) throw damaged(name, "a member may be there once", member);
    result.members_.emplace_back(member, read_member(archive.get(), index, bytes.size(), budget, name));
  }
  return result;
}

bool ZipArchive::has(std::string_view member) const {
  for (const auto& [name, bytes] : members_) {
    if (name == member) return true;
  }
  return false;
}

const std::string& ZipArchive::at(std::string_view member) const {
  for (const auto& [name, bytes] : members_) {
    if (name == member) return bytes;
  }
  throw damaged(name_, "a member is missing", member);
}

}  // namespace cohort
