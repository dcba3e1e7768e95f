#include "cohort/datasets/sources/source_file.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <system_error>

#include "cohort/core/error.h"
#include "cohort/files/data_root.h"
#include "cohort/files/remote_file.h"

namespace cohort::datasets {
namespace {

constexpr std::size_t kPackedBytes = std::size_t{256} << 10;
constexpr std::size_t kMostOfOneRead = std::size_t{1} << 30;

std::string reason(int error) { return std::generic_category().message(error); }

class PlainBytes : public SourceBytes {
 public:
  explicit PlainBytes(const SourceFile& file) : file_(file) {}
  std::size_t read(void* target, std::size_t bytes) override {
    const std::size_t got = file_.read_at(at_, target, bytes);
    at_ += got;
    return got;
  }
  std::uint64_t pass(std::uint64_t bytes) override {
    const std::uint64_t passed = std::min(bytes, file_.size() - std::min(at_, file_.size()));
    at_ += passed;
    return passed;
  }

 private:
  const SourceFile& file_;
  std::uint64_t at_ = 0;
};

class InflatedBytes : public SourceBytes {
 public:
  InflatedBytes(const char* who, const SourceFile& file, Packing packing)
      : who_(who), file_(file), gzip_(packing == Packing::Gzip), packed_(kPackedBytes) {
    constexpr int kLargestWindow = 15, kWithGzipHeader = 16;
    if (inflateInit2(&state_, kLargestWindow + (gzip_ ? kWithGzipHeader : 0)) != Z_OK) {
      throw Error(ErrorCode::ResourceExhausted, who_, "memory to unpack a file is expected", {{"file", file.path()}});
    }
  }
  ~InflatedBytes() override { inflateEnd(&state_); }

  std::size_t read(void* target, std::size_t bytes) override {
    const auto wanted = static_cast<unsigned>(std::min(bytes, kMostOfOneRead));
    state_.next_out = static_cast<Bytef*>(target);
    state_.avail_out = wanted;
    while (state_.avail_out > 0 && problem_ == nullptr && more_to_unpack()) {
      const int status = inflate(&state_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        ended_ = true;
      } else if (status != Z_OK) {
        problem_ = "its compressed data is wrong";
      }
    }
    const std::size_t got = wanted - state_.avail_out;
    // What comes before the damage is good.
    if (got == 0 && problem_ != nullptr) damaged();
    return got;
  }
  std::uint64_t pass(std::uint64_t bytes) override {
    char dropped[16 << 10];
    std::uint64_t passed = 0;
    while (passed < bytes) {
      const std::size_t got = read(dropped, std::min<std::uint64_t>(bytes - passed, sizeof dropped));
      if (got == 0) break;
      passed += got;
    }
    return passed;
  }

 private:
  // Whether inflate has something to do: a file may be several streams of gzip one after the other, and an empty file
  // is none.
  bool more_to_unpack() {
    if (state_.avail_in == 0) fill();
    if (ended_) {
      if (state_.avail_in == 0) return false;
      if (!gzip_) return fail("something is left at its end");
      inflateReset(&state_);
      ended_ = false;
    }
    if (state_.avail_in > 0) return true;
    return at_ > 0 && fail("it ends too early");
  }
  bool fail(const char* problem) {
    problem_ = problem;
    return false;
  }
  void fill() {
    const std::size_t got = file_.read_at(at_, packed_.data(), packed_.size());
    at_ += got;
    state_.next_in = packed_.data();
    state_.avail_in = static_cast<unsigned>(got);
  }
  [[noreturn]] void damaged() const {
    throw Error(ErrorCode::DataLoss, who_, "a whole compressed file is expected",
                {{"file", file_.path()}, {"packed offset", at_ - state_.avail_in}, {"problem", problem_}},
                "Write the file again, or name the compression that it has.");
  }

  const char* who_;
  const SourceFile& file_;
  bool gzip_, ended_ = false;
  const char* problem_ = nullptr;
  std::vector<Bytef> packed_;
  std::uint64_t at_ = 0;  // of the packed bytes
  z_stream state_{};
};

}  // namespace

SourceFile::SourceFile(const char* who, std::string path, std::optional<std::uint64_t> expected_bytes,
                       const std::shared_ptr<const DataRoots>& roots)
    : who_(who), path_(std::move(path)) {
  if (RemoteFile::is_address(path_)) {
    check_may_fetch(who, path_, roots.get());
    remote_ = std::make_unique<RemoteFile>(who, path_, expected_bytes, RemoteFileOptions{.follow_redirects = !roots});
    size_ = remote_->size();
    return;
  }
  descriptor_ = open_data_file(who, path_, roots.get());
  struct stat about {};
  const bool found = ::fstat(descriptor_, &about) == 0;
  size_ = static_cast<std::uint64_t>(about.st_size);
  if (found && (!expected_bytes || *expected_bytes == size_)) return;
  ::close(descriptor_);
  throw failed_precondition(who, "the file that the dataset was made of is expected",
                            {{"file", path_}, {"bytes", size_}, {"bytes_then", expected_bytes.value_or(0)}},
                            "Make the dataset again after changing its files.");
}

SourceFile::~SourceFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t SourceFile::read_at(std::uint64_t offset, void* target, std::size_t bytes) const {
  if (remote_) return remote_->read_at(offset, target, bytes);
  auto* next = static_cast<char*>(target);
  const std::uint64_t wanted = offset < size_ ? std::min<std::uint64_t>(bytes, size_ - offset) : 0;
  std::uint64_t done = 0;
  while (done < wanted) {
    const ssize_t got = ::pread(descriptor_, next + done, std::min<std::uint64_t>(wanted - done, kMostOfOneRead),
                                static_cast<off_t>(offset + done));
    if (got == 0) unreadable(offset + done, "it became shorter");
    if (got < 0 && errno != EINTR) unreadable(offset + done, reason(errno));
    if (got > 0) done += static_cast<std::uint64_t>(got);
  }
  return static_cast<std::size_t>(done);
}

void SourceFile::unreadable(std::uint64_t offset, std::string_view problem) const {
  throw Error(ErrorCode::DataLoss, who_, "a whole file is expected",
              {{"file", path_}, {"offset", offset}, {"problem", problem}}, "Fetch or write the file again.");
}

std::vector<InputFile> find_input_files(const char* who, const std::vector<std::string>& paths) {
  if (paths.empty()) throw invalid_argument(who, "at least one file is expected", {{"files.size", 0}});
  std::vector<InputFile> files;
  for (const std::string& path : paths) files.push_back({path, SourceFile(who, path).size(), files.size()});
  return files;
}

void add_input_files(const std::vector<InputFile>& files, Attributes& attributes) {
  std::vector<std::string> paths;
  std::vector<std::int64_t> bytes;
  for (const InputFile& file : files) {
    paths.push_back(file.path);
    bytes.push_back(static_cast<std::int64_t>(file.bytes));
  }
  attributes.set("files", paths);
  attributes.set("file_bytes", bytes);
}

std::vector<InputFile> input_files_of(const char* who, const Attributes& attributes) {
  constexpr const char* kNumbers = "file_numbers";
  const auto paths = attributes.get<std::vector<std::string>>("files");
  const auto bytes = attributes.get<std::vector<std::int64_t>>("file_bytes");
  std::vector<std::int64_t> numbers(paths.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  if (attributes.has(kNumbers)) numbers = attributes.get<std::vector<std::int64_t>>(kNumbers);
  const auto impossible = [](std::int64_t n) { return n < 0; };
  const auto no_number = [](std::int64_t n) { return n < 0 || static_cast<std::uint64_t>(n) > kMostFileNumber; };
  if (paths.size() != bytes.size() || paths.size() != numbers.size() ||
      std::any_of(bytes.begin(), bytes.end(), impossible) || std::any_of(numbers.begin(), numbers.end(), no_number)) {
    throw invalid_argument(
        who, "files, and the size and a number below 2^24 of each, are expected",
        {{"files.size", paths.size()}, {"file_bytes.size", bytes.size()}, {"file_numbers.size", numbers.size()}});
  }
  std::vector<InputFile> files;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    files.push_back({paths[i], static_cast<std::uint64_t>(bytes[i]), static_cast<std::uint64_t>(numbers[i])});
  }
  return files;
}

Packing packing_of(const char* who, std::string_view compression) {
  if (compression.empty()) return Packing::None;
  if (compression == "gzip" || compression == "GZIP") return Packing::Gzip;
  if (compression == "zlib" || compression == "ZLIB") return Packing::Zlib;
  throw invalid_argument(who, "the compression must be \"\", \"gzip\" or \"zlib\"", {{"compression", compression}});
}

std::unique_ptr<SourceBytes> bytes_of(const char* who, const SourceFile& file, Packing packing) {
  if (packing == Packing::None) return std::make_unique<PlainBytes>(file);
  return std::make_unique<InflatedBytes>(who, file, packing);
}

}  // namespace cohort::datasets
