#include "cohort/datasets/builtin/idx_file.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>

#include "cohort/datasets/builtin/labelled_images.h"

namespace cohort::datasets {
namespace {

constexpr const char* kReadIdx = "datasets.read_idx";
constexpr std::uint8_t kUnsignedBytes = 0x08;
// Deflate packs at most about 1032 bytes into one.
constexpr std::uint64_t kBestRatio = 1032;

[[noreturn]] void damaged(const std::string& path, std::string_view problem) {
  throw Error(ErrorCode::DataLoss, kReadIdx, "a whole IDX file is expected", {{"path", path}, {"problem", problem}},
              "Fetch the file again.");
}

class GzipFile {
 public:
  explicit GzipFile(const SourceFile& file) : path_(file.path()), bytes_(file.size()) {
    if (file.descriptor() < 0) {
      throw invalid_argument(kReadIdx, "a file on this machine is expected", {{"path", path_}}, "Fetch it first.");
    }
    const int descriptor = ::dup(file.descriptor());
    file_ = gzdopen(descriptor, "rb");
    if (file_) return;
    if (descriptor >= 0) ::close(descriptor);
    throw Error(ErrorCode::ResourceExhausted, kReadIdx, "memory to read a file is expected", {{"path", path_}});
  }
  ~GzipFile() { gzclose(file_); }
  GzipFile(const GzipFile&) = delete;

  const std::string& path() const { return path_; }
  // Packed, as it lies there.
  std::uint64_t bytes() const { return bytes_; }
  void read(void* target, std::size_t bytes) {
    auto* next = static_cast<char*>(target);
    while (bytes > 0) {
      const int got = gzread(file_, next, static_cast<unsigned>(std::min<std::size_t>(bytes, 1u << 30)));
      if (got < 0) damaged(path_, "its compressed data is wrong");
      if (got == 0) damaged(path_, "it ends too early");
      next += got;
      bytes -= static_cast<std::size_t>(got);
    }
  }
  // Reading to the very end makes zlib compare the checksum.
  void finish() {
    char extra = 0;
    const int got = gzread(file_, &extra, 1);
    int status = Z_OK;
    gzerror(file_, &status);
    if (got < 0 || (status != Z_OK && status != Z_STREAM_END)) damaged(path_, "its compressed data is wrong");
    if (got > 0) damaged(path_, "something is left at its end");
  }

 private:
  std::string path_;
  std::uint64_t bytes_;
  gzFile file_ = nullptr;
};

Shape read_shape(GzipFile& file) {
  const std::string& path = file.path();
  std::array<std::uint8_t, 4> magic;
  file.read(magic.data(), magic.size());
  if (magic[0] != 0 || magic[1] != 0 || magic[3] == 0 || magic[3] > Shape::kMaxRank)
    damaged(path, "its magic number is wrong");
  if (magic[2] != kUnsignedBytes) {
    throw unimplemented(kReadIdx, "an IDX file of unsigned bytes is expected",
                        {{"path", path}, {"type", int{magic[2]}}});
  }
  const std::uint64_t most = std::max<std::uint64_t>(file.bytes(), 1) * kBestRatio;
  Shape shape;
  std::uint64_t bytes = 1;
  for (int axis = 0; axis < magic[3]; ++axis) {
    std::array<std::uint8_t, 4> size;
    file.read(size.data(), size.size());
    const std::int64_t n = (std::int64_t{size[0]} << 24) | (size[1] << 16) | (size[2] << 8) | size[3];
    shape.push_back(n);
    // Believed only as far as a file of this length could hold it: nothing is allocated on a header's word.
    if (n > 0 && bytes > most / static_cast<std::uint64_t>(n)) damaged(path, "it is too short for its shape");
    bytes *= static_cast<std::uint64_t>(n);
  }
  return shape;
}

Tensor read_idx_values(const SourceFile& opened) {
  GzipFile file(opened);
  Tensor values = Tensor::empty(DType::UInt8, read_shape(file), cpu());
  file.read(values.raw(), values.bytes());
  file.finish();
  return values;
}

}  // namespace

Shape read_idx_shape(const std::string& path) {
  const SourceFile opened(kReadIdx, path);
  GzipFile file(opened);
  return read_shape(file);
}

Tensor read_idx(const std::string& path) { return read_idx_values(SourceFile(kReadIdx, path)); }
Tensor read_idx_file(const InputFile& file) { return read_idx_values(SourceFile(kReadIdx, file)); }

}  // namespace cohort::datasets
