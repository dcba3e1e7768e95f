#include "cohort/datasets/sources/column_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>

#include "cohort/core/error.h"
#include "cohort/core/thread_pool.h"
#include "cohort/data/iterator_state.h"
#include "cohort/datasets/sources/element_check.h"
#include "cohort/datasets/sources/rows.h"
#include "cohort/files/atomic_file.h"
#include "cohort/files/crc32c.h"

namespace cohort::datasets {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::string_view kColumnMagic = "CohortColumns1\r\n";
constexpr std::uint64_t kColumnVersion = 1;
constexpr std::size_t kWord = sizeof(std::uint64_t);
// Length and sum of what describes the columns, and the magic again.
constexpr std::size_t kTrailerBytes = 2 * kWord + kColumnMagic.size();
constexpr std::size_t kSpillStage = std::size_t{1} << 20;
constexpr std::size_t kMostDescription = std::size_t{64} << 20;
// Rows copied by one thread at a stretch.
constexpr std::size_t kCopyGrainBytes = std::size_t{512} << 10;

// One axis more must fit a tensor of all rows.
bool is_array(const TensorSpec& leaf) {
  return is_plain(leaf.dtype) && leaf.shape.fully_known() && leaf.shape.rank() < Shape::kMaxRank;
}
std::size_t row_bytes_of(const TensorSpec& leaf) {
  return static_cast<std::size_t>(leaf.shape.num_elements()) * size_of(leaf.dtype);
}

// Where a leaf's column is in the file.
struct ColumnPlace {
  std::uint64_t data = 0, data_bytes = 0;
  std::uint64_t ends = 0;  // of the rows among the data; only of those that are no array
};

std::string_view word_bytes(const std::uint64_t& word) { return {reinterpret_cast<const char*>(&word), kWord}; }

// Bytes of a column that waits for the others to be written: the file has room for one that grows. Gone by itself.
class Spill {
 public:
  explicit Spill(const std::string& path) : path_(path) {
    static std::atomic<int> spills{0};
    const std::string name = path + ".tmp." + std::to_string(::getpid()) + ".column" + std::to_string(spills++);
    descriptor_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor_ < 0) fail();
    ::unlink(name.c_str());
  }
  ~Spill() { ::close(descriptor_); }
  Spill(const Spill&) = delete;

  std::uint64_t size() const { return written_ + staged_.size(); }
  void append(std::string_view bytes) {
    if (staged_.size() + bytes.size() > kSpillStage) flush();
    if (bytes.size() >= kSpillStage) return write_out(bytes);
    staged_.insert(staged_.end(), bytes.begin(), bytes.end());
  }
  void move_to(AtomicFile& file) {
    const std::string rest(staged_.begin(), staged_.end());
    std::string block(kSpillStage, '\0');
    for (std::uint64_t at = 0; at < written_;) {
      const ssize_t got = ::pread(descriptor_, block.data(), block.size(), static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) fail();
      file.append({block.data(), static_cast<std::size_t>(got)});
      at += static_cast<std::uint64_t>(got);
    }
    file.append(rest);
  }

 private:
  void flush() {
    write_out({staged_.data(), staged_.size()});
    staged_.clear();
  }
  void write_out(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail();
      bytes.remove_prefix(static_cast<std::size_t>(written));
      written_ += static_cast<std::uint64_t>(written);
    }
  }
  [[noreturn]] void fail() const {
    throw Error(ErrorCode::ResourceExhausted, "file '" + path_ + "'", "must be written",
                {{"error", std::strerror(errno)}}, "See that the folder is writable and the disk not full.");
  }

  std::string path_;
  int descriptor_ = -1;
  std::vector<char> staged_;
  std::uint64_t written_ = 0;
};

// The bytes of a row that is no array's: sizes of its axes, of strings their lengths, then the values; whole words.
class RowBytes {
 public:
  std::string_view of(const Tensor& leaf) {
    bytes_.clear();
    for (const std::int64_t size : leaf.shape()) bytes_ += word_bytes(static_cast<std::uint64_t>(size));
    if (leaf.dtype() == DType::String) {
      const auto* strings = static_cast<const std::string*>(leaf.raw());
      const auto count = static_cast<std::size_t>(leaf.num_elements());
      for (std::size_t i = 0; i < count; ++i) bytes_ += word_bytes(strings[i].size());
      for (std::size_t i = 0; i < count; ++i) bytes_ += strings[i];
    } else if (leaf.bytes() > 0) {
      bytes_.append(static_cast<const char*>(leaf.raw()), leaf.bytes());
    }
    bytes_.resize((bytes_.size() + kWord - 1) / kWord * kWord, '\0');
    return bytes_;
  }

 private:
  std::string bytes_;
};

}  // namespace

class ColumnFileWriter::State {
 public:
  State(const char* who, const std::string& path, const ElementSpec& spec)
      : who_(who), path_(path), spec_(spec), specs_(spec.flatten()), file_(path), ends_(specs_.size()) {
    for (const TensorSpec& leaf : specs_) {
      if (leaf.dtype == DType::Resource) {
        throw invalid_argument(who, "elements of numbers and strings are expected", {{"element", to_string(spec)}});
      }
    }
    std::string page(kColumnMagic);
    page.resize(kPage, '\0');
    file_.append(page);
    numbers_ = std::make_unique<Spill>(path);
  }

  void append(const Tensors& element, std::uint64_t number) {
    check_element(who_, specs_, element, count_);
    if (data_.empty()) begin(element);
    for (std::size_t i = 0; i < specs_.size(); ++i) append_leaf(i, element[i].to_host());
    if (number != count_) numbered_ = true;
    numbers_->append(word_bytes(number));
    ++count_;
  }

  void commit(std::uint64_t fingerprint, const std::string& start) {
    if (data_.empty()) begin({});
    std::vector<ColumnPlace> places(specs_.size());
    if (main_ < specs_.size()) places[main_] = {kPage, file_.size() - kPage, 0};
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (i != main_) places[i] = {put(*data_[i]), data_[i]->size(), 0};
      if (ends_[i]) places[i].ends = put(*ends_[i]);
    }
    const std::uint64_t numbers = numbered_ ? put(*numbers_) : 0;
    put_description(fingerprint, start, places, numbers);
    file_.commit();
  }

 private:
  // The widest column goes straight into the file.
  void begin(const Tensors& first) {
    data_.resize(specs_.size());
    std::size_t most = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      const std::size_t bytes = first[i].dtype() == DType::String ? 0 : first[i].bytes();
      if (main_ == SIZE_MAX || bytes > most) {
        main_ = i;
        most = bytes;
      }
    }
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (i != main_) data_[i] = std::make_unique<Spill>(path_);
      if (!is_array(specs_[i])) ends_[i] = std::make_unique<Spill>(path_);
    }
  }
  void append_leaf(std::size_t i, const Tensor& leaf) {
    const std::string_view bytes =
        ends_[i] ? row_.of(leaf) : std::string_view(static_cast<const char*>(leaf.raw()), leaf.bytes());
    if (i == main_) {
      file_.append(bytes);
    } else {
      data_[i]->append(bytes);
    }
    if (ends_[i]) ends_[i]->append(word_bytes(i == main_ ? file_.size() - kPage : data_[i]->size()));
  }
  std::uint64_t put(Spill& column) {
    file_.append(std::string(static_cast<std::size_t>((kPage - file_.size() % kPage) % kPage), '\0'));
    const std::uint64_t at = file_.size();
    column.move_to(file_);
    return at;
  }
  void put_description(std::uint64_t fingerprint, const std::string& start, const std::vector<ColumnPlace>& places,
                       std::uint64_t numbers) {
    std::string text;
    StateWriter out(text);
    out.number(kColumnVersion);
    out.number(fingerprint);
    out.bytes(start);
    out.number(count_);
    out.bytes(structure_of(spec_));
    out.number(specs_.size());
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      out.bytes(to_string(specs_[i].dtype));
      out.number(static_cast<std::uint64_t>(specs_[i].shape.rank()));
      for (const std::int64_t size : specs_[i].shape) out.number(size == kUnknown ? 0 : std::uint64_t(size) + 1);
      for (const std::uint64_t number : {places[i].data, places[i].data_bytes, places[i].ends}) out.number(number);
    }
    out.number(numbers);
    const std::uint64_t length = text.size(), sum = crc32c(text);
    text.append(word_bytes(length)).append(word_bytes(sum)).append(kColumnMagic);
    file_.append(text);
  }

  const char* who_;
  std::string path_;
  ElementSpec spec_;
  Specs specs_;
  AtomicFile file_;
  std::size_t main_ = SIZE_MAX;
  std::vector<std::unique_ptr<Spill>> data_, ends_;
  std::unique_ptr<Spill> numbers_;
  RowBytes row_;
  bool numbered_ = false;  // otherwise than 0, 1, ...
  std::uint64_t count_ = 0;
};

ColumnFileWriter::ColumnFileWriter(const char* who, const std::string& path, const ElementSpec& spec)
    : state_(std::make_unique<State>(who, path, spec)) {}
ColumnFileWriter::~ColumnFileWriter() = default;
void ColumnFileWriter::append(const Tensors& element, std::uint64_t number) { state_->append(element, number); }
void ColumnFileWriter::commit(std::uint64_t fingerprint, const std::string& start) {
  state_->commit(fingerprint, start);
}

class ColumnFile::State {
 public:
  State(const char* who, const SourceFile& file) : who_(who), path_(file.path()) {
    bytes_ = file.size();
    const std::string description = read_description(file);
    map(file);
    try {
      parse(description);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::DataLoss) throw;
      damaged(error.what());
    }
  }

  const ColumnFileInfo& info() const { return info_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t number(std::uint64_t row) const { return numbers_ ? numbers_[row] : row; }
  const Tensors* columns() const { return all_arrays_ ? &columns_ : nullptr; }

  void read(std::uint64_t row, Tensors& element) const {
    if (all_arrays_) return row_of(columns_, static_cast<std::int64_t>(row), element);
    element.resize(specs_.size());
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (!ends_[i]) {
        const std::size_t width = row_bytes_of(specs_[i]);
        element[i].renew_over(specs_[i].dtype, specs_[i].shape, columns_[i].buffer(),
                              static_cast<std::size_t>(row) * width);
      } else {
        read_row(i, row, element[i]);
      }
    }
  }

  void read_rows(std::uint64_t first, std::size_t count, std::span<const RowMemory> leaves) const {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      const RowMemory& rows = leaves[i];
      if (rows.row_bytes == 0) continue;
      const auto grain = static_cast<std::int64_t>(std::max<std::size_t>(1, kCopyGrainBytes / rows.row_bytes));
      if (ends_[i]) {
        for (std::size_t row = 0; row < count; ++row) copy_strings(i, first + row, rows, row);
        continue;
      }
      const auto* from = static_cast<const char*>(columns_[i].raw()) + first * rows.row_bytes;
      parallel_for(static_cast<std::int64_t>(count), grain, [&](std::int64_t begin, std::int64_t end) {
        const auto at = static_cast<std::size_t>(begin) * rows.row_bytes;
        std::memcpy(rows.first + at, from + at, static_cast<std::size_t>(end - begin) * rows.row_bytes);
      });
    }
  }

 private:
  // The memory goes with the last element that is made of it.
  struct Mapping {
    char* memory = nullptr;
    std::size_t bytes = 0;
    ~Mapping() { ::munmap(memory, bytes); }
  };
  // What stands before the values of a row.
  struct RowHead {
    Shape shape;
    std::uint64_t values = 0;  // where they begin among the column's bytes
    std::uint64_t end = 0;     // of the row
    std::size_t count = 0;     // how many values
  };

  [[noreturn]] void damaged(std::string_view problem) const {
    throw Error(ErrorCode::DataLoss, who_, "a whole file of columns is expected",
                {{"file", path_}, {"problem", problem}}, "Delete it, and write it again.");
  }

  std::string read_description(const SourceFile& file) const {
    std::array<char, kTrailerBytes> trailer;
    if (file.size() < kPage + kTrailerBytes) damaged("it is too short");
    file.read_at(file.size() - kTrailerBytes, trailer.data(), trailer.size());
    if (std::string_view(trailer.data() + 2 * kWord, kColumnMagic.size()) != kColumnMagic) damaged("its end is wrong");
    std::uint64_t length = 0, sum = 0;
    std::memcpy(&length, trailer.data(), kWord);
    std::memcpy(&sum, trailer.data() + kWord, kWord);
    if (length > kMostDescription || length > file.size() - kPage - kTrailerBytes) damaged("its end is wrong");
    std::string description(static_cast<std::size_t>(length), '\0');
    file.read_at(file.size() - kTrailerBytes - length, description.data(), description.size());
    if (crc32c(description) != sum) damaged("what describes its columns does not fit its sum");
    return description;
  }

  void map(const SourceFile& file) {
    const auto bytes = static_cast<std::size_t>(bytes_);
    // Written to, elements would not be the file's any more: pages are copied then.
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.descriptor(), 0);
    if (memory == MAP_FAILED) {
      throw Error(ErrorCode::ResourceExhausted, who_, "the file must be mapped into memory",
                  {{"file", path_}, {"error", std::strerror(errno)}});
    }
    mapping_ = std::make_shared<Mapping>();
    mapping_->memory = static_cast<char*>(memory);
    mapping_->bytes = bytes;
  }

  void parse(const std::string& description) {
    StateReader in(description);
    if (in.number() != kColumnVersion) damaged("it is of another version");
    info_.fingerprint = in.number();
    info_.start = in.bytes();
    info_.count = in.number();
    const std::string_view structure = in.bytes();
    const std::uint64_t leaves = in.number();
    if (info_.count > bytes_ * kPage || leaves > description.size()) damaged("its numbers make no sense");
    all_arrays_ = leaves > 0;
    for (std::uint64_t i = 0; i < leaves; ++i) parse_column(in);
    const std::uint64_t numbers = in.number();
    in.finish();
    if (numbers != 0) numbers_ = words(numbers);
    info_.spec = parse_structure(structure, specs_);
  }
  void parse_column(StateReader& in) {
    TensorSpec spec{dtype_from_string(in.bytes()), {}};
    const std::uint64_t rank = in.number();
    if (rank > static_cast<std::uint64_t>(Shape::kMaxRank)) damaged("a column has too many axes");
    std::uint64_t values = 1;
    for (std::uint64_t axis = 0; axis < rank; ++axis) {
      const std::uint64_t size = in.number();
      if (size > (std::uint64_t{1} << 59)) damaged("an axis is too long");
      spec.shape.push_back(size == 0 ? kUnknown : static_cast<std::int64_t>(size - 1));
      if (size > 1 && values > (std::uint64_t{1} << 59) / size) damaged("a row is too large");
      values *= std::max<std::uint64_t>(size, 2) - 1;
    }
    const ColumnPlace place{in.number(), in.number(), in.number()};
    if (spec.dtype == DType::Resource || place.data % kPage != 0 || place.data > bytes_ ||
        place.data_bytes > bytes_ - place.data) {
      damaged("a column lies outside of it");
    }
    if (is_array(spec)) {
      const std::size_t width = row_bytes_of(spec);
      if (width > 0 ? place.data_bytes / width != info_.count || place.data_bytes % width != 0
                    : place.data_bytes != 0) {
        damaged("a column is too short");
      }
      add_array(spec, place);
    } else {
      all_arrays_ = false;
      columns_.push_back(over(place.data, DType::UInt8, {static_cast<std::int64_t>(place.data_bytes)}));
      ends_.push_back(words(place.ends));
    }
    specs_.push_back(spec);
  }
  void add_array(const TensorSpec& spec, const ColumnPlace& place) {
    Shape shape{static_cast<std::int64_t>(info_.count)};
    for (const std::int64_t size : spec.shape) shape.push_back(size);
    columns_.push_back(over(place.data, spec.dtype, shape));
    ends_.push_back(nullptr);
  }
  Tensor over(std::uint64_t at, DType dtype, const Shape& shape) const {
    return Tensor::from_blob(mapping_->memory + at, dtype, shape, [keep = mapping_] {});
  }
  const std::uint64_t* words(std::uint64_t at) const {
    if (at % kPage != 0 || at > bytes_ || info_.count > (bytes_ - at) / kWord) damaged("a column lies outside of it");
    return reinterpret_cast<const std::uint64_t*>(mapping_->memory + at);
  }

  const char* data_of(std::size_t leaf) const { return static_cast<const char*>(columns_[leaf].raw()); }
  std::uint64_t word_at(std::size_t leaf, std::uint64_t at) const {
    std::uint64_t word = 0;
    std::memcpy(&word, data_of(leaf) + at, kWord);
    return word;
  }
  // What a row claims is believed only as far as its bytes go.
  RowHead head_of(std::size_t leaf, std::uint64_t row) const {
    const std::uint64_t begin = row == 0 ? 0 : ends_[leaf][row - 1];
    RowHead head{{}, begin, ends_[leaf][row], 1};
    const auto rank = static_cast<std::uint64_t>(specs_[leaf].shape.rank());
    if (begin > head.end || head.end > columns_[leaf].bytes() || begin % kWord != 0 ||
        rank > (head.end - begin) / kWord) {
      damaged("a row lies outside of its column");
    }
    const bool strings = specs_[leaf].dtype == DType::String;
    const std::uint64_t width = strings ? kWord : size_of(specs_[leaf].dtype);
    const std::uint64_t most = (head.end - begin) / width;
    for (std::uint64_t axis = 0; axis < rank; ++axis, head.values += kWord) {
      const std::uint64_t size = word_at(leaf, head.values);
      if (size > (std::uint64_t{1} << 59) || (size > 0 && head.count > most / size)) damaged("a row is too short");
      head.count *= static_cast<std::size_t>(size);
      head.shape.push_back(static_cast<std::int64_t>(size));
    }
    if (head.count * width > head.end - head.values || !head.shape.compatible(specs_[leaf].shape)) {
      damaged("a row is too short");
    }
    return head;
  }
  void read_row(std::size_t leaf, std::uint64_t row, Tensor& target) const {
    const RowHead head = head_of(leaf, row);
    if (specs_[leaf].dtype == DType::String) {
      std::vector<std::string> strings(head.count);
      read_strings(leaf, head, strings.data());
      target = Tensor::of_strings(std::move(strings), head.shape);
    } else {
      target.renew_over(specs_[leaf].dtype, head.shape, columns_[leaf].buffer(), static_cast<std::size_t>(head.values));
    }
  }
  void copy_strings(std::size_t leaf, std::uint64_t row, const RowMemory& rows, std::size_t target) const {
    const RowHead head = head_of(leaf, row);
    char* const memory = rows.first + target * rows.row_bytes;
    if (specs_[leaf].dtype == DType::String) {
      read_strings(leaf, head, reinterpret_cast<std::string*>(memory));
    } else {
      std::memcpy(memory, data_of(leaf) + head.values, rows.row_bytes);
    }
  }
  void read_strings(std::size_t leaf, const RowHead& head, std::string* target) const {
    std::uint64_t at = head.values + head.count * kWord;
    for (std::size_t i = 0; i < head.count; ++i) {
      const std::uint64_t length = word_at(leaf, head.values + i * kWord);
      if (length > head.end - at) damaged("a string is too long");
      target[i].assign(data_of(leaf) + at, static_cast<std::size_t>(length));
      at += length;
    }
  }

  const char* who_;
  std::string path_;
  std::uint64_t bytes_ = 0;
  std::shared_ptr<Mapping> mapping_;
  ColumnFileInfo info_;
  std::vector<TensorSpec> specs_;
  Tensors columns_;                         // arrays, or the bytes of rows
  std::vector<const std::uint64_t*> ends_;  // of rows that are no array's
  const std::uint64_t* numbers_ = nullptr;
  bool all_arrays_ = false;
};

ColumnFile::ColumnFile(const char* who, const std::string& path)
    : state_(std::make_unique<const State>(who, SourceFile(who, path))) {}
ColumnFile::ColumnFile(const char* who, const InputFile& file)
    : state_(std::make_unique<const State>(who, SourceFile(who, file))) {}
ColumnFile::~ColumnFile() = default;
const ColumnFileInfo& ColumnFile::info() const { return state_->info(); }
std::uint64_t ColumnFile::bytes() const { return state_->bytes(); }
std::uint64_t ColumnFile::number(std::uint64_t row) const { return state_->number(row); }
const Tensors* ColumnFile::columns() const { return state_->columns(); }
void ColumnFile::read(std::uint64_t row, Tensors& element) const { state_->read(row, element); }
void ColumnFile::read_rows(std::uint64_t first, std::size_t count, std::span<const RowMemory> leaves) const {
  state_->read_rows(first, count, leaves);
}

}  // namespace cohort::datasets
