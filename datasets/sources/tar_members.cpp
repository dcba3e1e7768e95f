#include "cohort/datasets/sources/tar_members.h"

#ifdef COHORT_HAS_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#endif

#include <algorithm>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/datasets/sources/file_records.h"

namespace cohort::datasets {

#ifndef COHORT_HAS_ARCHIVE

struct TarMembers::Reading {};

void check_tar_is_known(const char* who) {
  throw unimplemented(who, "a library built with libarchive is expected", {},
                      "Install libarchive's development package and build again.");
}
TarMembers::TarMembers(const char* who, const InputFile&, std::uint64_t) { check_tar_is_known(who); }
TarMembers::~TarMembers() = default;
bool TarMembers::next(TarMember&) { return false; }
void TarMembers::read(std::string&) {}
void TarMembers::pass() {}

#else

namespace {

constexpr std::size_t kArchiveBlock = std::size_t{256} << 10;

// libarchive turns names into the characters of the locale, or keeps their bytes where it cannot: as it never can here.
class LocaleOfBytes {
 public:
  LocaleOfBytes() : before_(::uselocale(plain())) {}
  ~LocaleOfBytes() { ::uselocale(before_); }
  LocaleOfBytes(const LocaleOfBytes&) = delete;
  LocaleOfBytes& operator=(const LocaleOfBytes&) = delete;

 private:
  static locale_t plain() {
    static const locale_t locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
    return locale;
  }
  locale_t before_;
};

// An archive of libarchive that reads bytes of ours.
class BytesArchive {
 public:
  //   begin: where the bytes begin, for errors.
  BytesArchive(const char* who, const std::string& file, std::unique_ptr<SourceBytes> bytes, std::uint64_t begin)
      : who_(who),
        file_(file),
        bytes_(std::move(bytes)),
        begin_(begin),
        block_(kArchiveBlock),
        archive_(archive_read_new()) {
    if (!archive_) {
      throw Error(ErrorCode::ResourceExhausted, who_, "memory to read an archive is expected", {{"file", file_}});
    }
  }
  ~BytesArchive() { archive_read_free(archive_); }
  BytesArchive(const BytesArchive&) = delete;
  BytesArchive& operator=(const BytesArchive&) = delete;

  archive* get() const { return archive_; }
  // After the formats and filters are chosen.
  void open() {
    archive_read_set_read_callback(archive_, read_block);
    archive_read_set_skip_callback(archive_, pass_bytes);
    archive_read_set_callback_data(archive_, this);
    check(archive_read_open1(archive_));
  }
  // Throws what went wrong in a call, if anything did.
  void check(la_ssize_t status) {
    if (status < ARCHIVE_WARN) fail(nullptr);
  }
  // How far it has come, among the unpacked bytes.
  std::uint64_t offset() const {
    return begin_ + static_cast<std::uint64_t>(std::max<la_int64_t>(0, archive_filter_bytes(archive_, 0)));
  }
  // Reads what is left behind the end of the archive, as long as it is not much: sums stand at the end of packed bytes.
  void read_to_end() {
    constexpr int kMostBlocks = 64;
    for (int i = 0; i < kMostBlocks && bytes_->read(block_.data(), block_.size()) > 0; ++i) {
    }
  }
  [[noreturn]] void fail(const char* problem) {
    if (error_) std::rethrow_exception(error_);
    const char* told = archive_error_string(archive_);
    throw Error(ErrorCode::DataLoss, who_, "a whole tar file is expected, plain or packed with gzip or zstd",
                {{"file", file_},
                 {"offset", offset()},
                 {"problem", problem ? problem
                             : told  ? told
                                     : "unknown"}},
                "The rest of the file is lost; write it again.");
  }

 private:
  static la_ssize_t read_block(archive*, void* self, const void** block) {
    auto& archive = *static_cast<BytesArchive*>(self);
    *block = archive.block_.data();
    if (archive.error_) return -1;
    try {
      return static_cast<la_ssize_t>(archive.bytes_->read(archive.block_.data(), archive.block_.size()));
    } catch (...) {
      archive.error_ = std::current_exception();  // no exception goes through a library of C
      return -1;
    }
  }
  // Asked to go further than this could, libarchive reads, and is told of the error there.
  static la_int64_t pass_bytes(archive*, void* self, la_int64_t bytes) {
    auto& archive = *static_cast<BytesArchive*>(self);
    if (archive.error_ || bytes <= 0) return 0;
    try {
      return static_cast<la_int64_t>(archive.bytes_->pass(static_cast<std::uint64_t>(bytes)));
    } catch (...) {
      archive.error_ = std::current_exception();
      return 0;
    }
  }

  const char* who_;
  const std::string& file_;
  std::unique_ptr<SourceBytes> bytes_;
  std::uint64_t begin_;
  std::vector<char> block_;
  std::exception_ptr error_;
  archive* archive_;
};

// What zstd has packed.
class ZstdBytes : public SourceBytes {
 public:
  ZstdBytes(const char* who, const SourceFile& file)
      : archive_(who, file.path(), bytes_of(who, file, Packing::None), 0) {
    // Where it has no libzstd it would run a program, and says so.
    if (archive_read_support_filter_zstd(archive_.get()) != ARCHIVE_OK) {
      throw unimplemented(who, "a libarchive that unpacks zstd is expected", {{"file", file.path()}},
                          "Pack the file with gzip, or not at all.");
    }
    archive_read_support_format_raw(archive_.get());
    archive_.open();
    archive_entry* entry = nullptr;
    archive_.check(archive_read_next_header(archive_.get(), &entry));
  }
  std::size_t read(void* target, std::size_t bytes) override {
    std::size_t done = 0;
    while (done < bytes && more_to_take(done == 0)) {
      const std::size_t some = std::min(bytes - done, rest_.size());
      std::memcpy(static_cast<char*>(target) + done, rest_.data(), some);
      rest_.remove_prefix(some);
      done += some;
    }
    return done;
  }
  std::uint64_t pass(std::uint64_t bytes) override {
    std::uint64_t passed = 0;
    while (passed < bytes && more_to_take(true)) {
      const std::uint64_t some = std::min<std::uint64_t>(bytes - passed, rest_.size());
      rest_.remove_prefix(static_cast<std::size_t>(some));
      passed += some;
    }
    return passed;
  }

 private:
  // Lets something stand in rest_, unless it has ended. What comes before the damage is good: where that has been taken
  // it waits to be asked again.
  bool more_to_take(bool fail_now) {
    while (rest_.empty() && !ended_ && status_ >= ARCHIVE_WARN) {
      const void* block = nullptr;
      std::size_t bytes = 0;
      la_int64_t at = 0;
      status_ = archive_read_data_block(archive_.get(), &block, &bytes, &at);
      ended_ = status_ == ARCHIVE_EOF;
      if (!ended_ && status_ >= ARCHIVE_WARN) rest_ = {static_cast<const char*>(block), bytes};
    }
    if (rest_.empty() && fail_now) archive_.check(status_);
    return !rest_.empty();
  }

  BytesArchive archive_;
  std::string_view rest_;  // of the last block
  int status_ = ARCHIVE_OK;
  bool ended_ = false;
};

// By the first bytes of the file: libarchive would judge by those from the offset on. Its own gzip checks no sums.
std::unique_ptr<SourceBytes> unpacked_bytes(const char* who, const SourceFile& file, bool& packed) {
  char begin[4] = {};
  const std::string_view seen(begin, file.read_at(0, begin, sizeof begin));
  packed = true;
  if (seen.starts_with("\x1f\x8b")) return bytes_of(who, file, Packing::Gzip);
  if (seen == "\x28\xb5\x2f\xfd") return std::make_unique<ZstdBytes>(who, file);
  packed = false;
  return bytes_of(who, file, Packing::None);
}

}  // namespace

void check_tar_is_known(const char*) {}

struct TarMembers::Reading {
  Reading(const char* who, const InputFile& input, std::uint64_t offset)
      : file(who, input), archive(who, file.path(), from(who, offset), offset), begin(offset) {
    archive_read_support_format_tar(archive.get());
  }
  std::unique_ptr<SourceBytes> from(const char* who, std::uint64_t offset) {
    std::unique_ptr<SourceBytes> bytes = unpacked_bytes(who, file, packed);
    if (bytes->pass(offset) < offset) {
      throw Error(ErrorCode::DataLoss, who, "a position inside the file is expected",
                  {{"file", file.path()}, {"offset", offset}});
    }
    return bytes;
  }

  SourceFile file;
  bool packed = false;
  BytesArchive archive;
  std::uint64_t begin;
  std::uint64_t member_bytes = 0;
  bool open = false;
};

TarMembers::TarMembers(const char* who, const InputFile& file, std::uint64_t offset)
    : reading_(std::make_unique<Reading>(who, file, offset)) {}

TarMembers::~TarMembers() = default;

bool TarMembers::next(TarMember& member) {
  const LocaleOfBytes locale;
  BytesArchive& archive = reading_->archive;
  if (!reading_->open) archive.open();
  reading_->open = true;
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(archive.get(), &entry);
  if (status == ARCHIVE_EOF) {
    if (reading_->packed) archive.read_to_end();
    return false;
  }
  archive.check(status);
  const char* name = archive_entry_pathname(entry);
  const la_int64_t bytes = archive_entry_size(entry);
  if (bytes < 0) archive.fail("a member has a size below 0");
  member.name = name ? name : "";
  member.bytes = reading_->member_bytes = static_cast<std::uint64_t>(bytes);
  member.offset = reading_->begin + static_cast<std::uint64_t>(archive_read_header_position(archive.get()));
  member.is_plain = archive_entry_filetype(entry) == AE_IFREG && archive_entry_hardlink(entry) == nullptr &&
                    archive_entry_sparse_count(entry) == 0;
  return true;
}

void TarMembers::read(std::string& contents) {
  BytesArchive& archive = reading_->archive;
  contents.clear();
  for (;;) {
    const void* part = nullptr;
    std::size_t bytes = 0;
    la_int64_t at = 0;
    const int status = archive_read_data_block(archive.get(), &part, &bytes, &at);
    if (status == ARCHIVE_EOF) break;
    archive.check(status);
    if (at < 0 || static_cast<std::uint64_t>(at) != contents.size()) archive.fail("a member has holes");
    if (bytes > kMostRecordBytes - contents.size()) archive.fail("a member has more than 1 GiB");
    contents.append(static_cast<const char*>(part), bytes);
  }
  if (contents.size() != reading_->member_bytes) archive.fail("a member is shorter than its header says");
}

void TarMembers::pass() { reading_->archive.check(archive_read_data_skip(reading_->archive.get())); }

#endif

}  // namespace cohort::datasets
