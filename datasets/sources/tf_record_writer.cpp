#include "cohort/datasets/sources/tf_record_writer.h"

#include <zlib.h>

#include <array>
#include <set>

#include "cohort/core/error.h"
#include "cohort/datasets/sources/source_file.h"
#include "cohort/files/atomic_file.h"
#include "cohort/files/record.h"

namespace cohort::datasets {
namespace {

constexpr const char* kWriter = "datasets.TFRecordWriter";
constexpr const char* kExample = "datasets.example";
constexpr std::size_t kMostWritten = std::size_t{1} << 30;
constexpr std::size_t kStagedBytes = std::size_t{256} << 10;

// Packs bytes on their way to a file.
class Deflated {
 public:
  Deflated(AtomicFile& file, Packing packing) : file_(file) {
    constexpr int kLargestWindow = 15, kWithGzipHeader = 16, kUsualMemory = 8;
    const int window = kLargestWindow + (packing == Packing::Gzip ? kWithGzipHeader : 0);
    if (deflateInit2(&state_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, kUsualMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw Error(ErrorCode::ResourceExhausted, kWriter, "memory to pack a file is expected");
    }
  }
  ~Deflated() { deflateEnd(&state_); }
  Deflated(const Deflated&) = delete;

  void append(std::string_view bytes) {
    // zlib does not write to what it reads.
    state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    state_.avail_in = static_cast<unsigned>(bytes.size());
    while (state_.avail_in > 0) step(Z_NO_FLUSH);
  }
  void finish() {
    while (step(Z_FINISH) != Z_STREAM_END) {
    }
  }

 private:
  int step(int flush) {
    state_.next_out = reinterpret_cast<Bytef*>(packed_.data());
    state_.avail_out = static_cast<unsigned>(packed_.size());
    const int status = deflate(&state_, flush);
    file_.append({packed_.data(), packed_.size() - state_.avail_out});
    return status;
  }

  AtomicFile& file_;
  z_stream state_{};
  std::array<char, 16 << 10> packed_;
};

// Of the wire format of protocol buffers.
constexpr char kFirstField = 0x0a, kSecondField = 0x12,
               kThirdField = 0x1a;  // each with its length

void append_varint(std::string& message, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) message.push_back(static_cast<char>(value | 0x80));
  message.push_back(static_cast<char>(value));
}
void append_field(std::string& message, char tag, std::string_view bytes) {
  message.push_back(tag);
  append_varint(message, bytes.size());
  message.append(bytes);
}

// The list of a feature, and which field of the feature it is.
std::pair<char, std::string> list_of(const Tensor& values) {
  std::string list;
  if (values.dtype() == DType::String) {
    for (const std::string& value : values.to_strings()) append_field(list, kFirstField, value);
    return {kFirstField, list};
  }
  if (is_floating(values.dtype())) {
    const std::vector<float> floats = values.to_vector<float>();
    append_field(list, kFirstField, {reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float)});
    return {kSecondField, list};
  }
  std::string varints;
  for (const std::int64_t value : values.to_vector<std::int64_t>()) {
    append_varint(varints, static_cast<std::uint64_t>(value));
  }
  append_field(list, kFirstField, varints);
  return {kThirdField, list};
}

}  // namespace

class TFRecordWriter::File {
 public:
  File(const std::string& path, Packing packing) : file_(path) {
    if (packing != Packing::None) packed_ = std::make_unique<Deflated>(file_, packing);
  }
  void write(std::string_view record) {
    append_record(staged_, record);
    if (staged_.size() >= kStagedBytes) flush();
  }
  void close() {
    flush();
    if (packed_) packed_->finish();
    file_.commit();
  }

 private:
  void flush() {
    if (packed_) {
      packed_->append(staged_);
    } else {
      file_.append(staged_);
    }
    staged_.clear();
  }

  AtomicFile file_;
  std::unique_ptr<Deflated> packed_;
  std::string staged_;
};

TFRecordWriter::TFRecordWriter(const std::string& path, const TFRecordWriterOptions& options)
    : file_(std::make_unique<File>(path, packing_of(kWriter, options.compression))) {}

TFRecordWriter::~TFRecordWriter() = default;

void TFRecordWriter::write(std::string_view record) {
  if (!file_) throw failed_precondition(kWriter, "a file that is not closed yet is expected");
  if (record.size() > kMostWritten) {
    throw invalid_argument(kWriter, "a record of at most 1 GiB is expected", {{"bytes", record.size()}});
  }
  file_->write(record);
}

void TFRecordWriter::close() {
  if (!file_) return;
  // Whether it succeeds or not, there is no more to it.
  const std::unique_ptr<File> file = std::move(file_);
  file->close();
}

std::string example(const std::vector<std::pair<std::string, Tensor>>& features) {
  std::string all;
  std::set<std::string_view> names;
  for (const auto& [name, values] : features) {
    if (!names.insert(name).second) throw invalid_argument(kExample, "each name is expected once", {{"feature", name}});
    if (!values.defined() || values.is_symbolic() || values.dtype() == DType::Resource) {
      throw invalid_argument(kExample, "tensors with values are expected", {{"feature", name}});
    }
    const auto [field, list] = list_of(values);
    std::string feature, entry;
    append_field(feature, field, list);
    append_field(entry, kFirstField, name);
    append_field(entry, kSecondField, feature);
    append_field(all, kFirstField, entry);
  }
  std::string result;
  append_field(result, kFirstField, all);
  return result;
}

}  // namespace cohort::datasets
