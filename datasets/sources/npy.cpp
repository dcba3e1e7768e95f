#include "cohort/datasets/sources/npy.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "cohort/core/error.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/sources/npy_header.h"
#include "cohort/datasets/sources/rows.h"
#include "cohort/datasets/sources/source.h"
#include "cohort/datasets/sources/source_file.h"
#include "cohort/files/zip_file.h"

namespace cohort::datasets {
namespace {

constexpr const char* kNpy = "datasets.npy";
constexpr const char* kNpz = "datasets.npz";
constexpr std::size_t kConvertedAtOnce = 4096;  // values

// The bytes of a .npy file, wherever it is, from front to back.
class NpyBytes {
 public:
  virtual ~NpyBytes() = default;
  // All bytes, the header included.
  virtual std::uint64_t size() const = 0;
  virtual void read(void* target, std::size_t bytes) = 0;
};

class NpyInFile : public NpyBytes {
 public:
  explicit NpyInFile(const SourceFile& file) : file_(file) {}
  std::uint64_t size() const override { return file_.size(); }
  void read(void* target, std::size_t bytes) override {
    if (file_.read_at(at_, target, bytes) < bytes) {
      throw Error(ErrorCode::DataLoss, kNpy, "a whole .npy file is expected",
                  {{"file", file_.path()}, {"offset", at_}});
    }
    at_ += bytes;
  }
  std::uint64_t at() const { return at_; }

 private:
  const SourceFile& file_;
  std::uint64_t at_ = 0;
};

class NpyInZip : public NpyBytes {
 public:
  explicit NpyInZip(ZipFile::Member& member) : member_(member) {}
  std::uint64_t size() const override { return member_.size(); }
  void read(void* target, std::size_t bytes) override { member_.read(target, bytes); }

 private:
  ZipFile::Member& member_;
};

NpyHeader read_header(NpyBytes& bytes, const std::string& name) {
  std::string begin(static_cast<std::size_t>(std::min<std::uint64_t>(kNpyPreamble, bytes.size())), '\0');
  bytes.read(begin.data(), begin.size());
  const std::size_t whole = npy_header_bytes(begin, name);
  if (whole < begin.size() || whole > bytes.size()) {
    throw Error(ErrorCode::DataLoss, kNpy, "a header inside its file is expected", {{"file", name}, {"header", whole}});
  }
  begin.resize(whole);
  bytes.read(begin.data() + kNpyPreamble, whole - kNpyPreamble);
  NpyHeader header = parse_npy_header(begin, name);
  // Nothing is allocated on a header's word.
  if (header.data_bytes > bytes.size() - whole) {
    throw Error(ErrorCode::DataLoss, kNpy, "a file as long as its shape says is expected",
                {{"file", name}, {"shape", header.spec.shape}, {"bytes", bytes.size() - whole}},
                "Write it again with numpy.save.");
  }
  return header;
}

template <class T>
T swapped_bytes(T value) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(T));
  std::reverse(bytes.begin(), bytes.end());
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// Values of type From in the file, To in the tensor, in the file's order.
template <class From, class To>
void read_values(NpyBytes& bytes, bool swapped, To* target, std::uint64_t count) {
  std::vector<From> some(static_cast<std::size_t>(std::min<std::uint64_t>(count, kConvertedAtOnce)));
  for (std::uint64_t done = 0; done < count; done += some.size()) {
    some.resize(static_cast<std::size_t>(std::min<std::uint64_t>(count - done, kConvertedAtOnce)));
    bytes.read(some.data(), some.size() * sizeof(From));
    for (std::size_t i = 0; i < some.size(); ++i) {
      target[done + i] = static_cast<To>(swapped ? swapped_bytes(some[i]) : some[i]);
    }
  }
}

void read_converted(NpyBytes& bytes, const NpyHeader& header, void* target) {
  const std::uint64_t count = header.data_bytes / header.width;
  const bool swapped = header.swapped;
  if (header.width == 2 && header.kind == 'i') {
    return read_values<std::int16_t>(bytes, swapped, static_cast<std::int32_t*>(target), count);
  }
  if (header.width == 2 && header.kind == 'u') {
    return read_values<std::uint16_t>(bytes, swapped, static_cast<std::int32_t*>(target), count);
  }
  if (header.width == 4 && header.kind == 'u') {
    return read_values<std::uint32_t>(bytes, swapped, static_cast<std::int64_t*>(target), count);
  }
  if (header.width == 2) return read_values<std::uint16_t>(bytes, swapped, static_cast<std::uint16_t*>(target), count);
  if (header.width == 4) return read_values<std::uint32_t>(bytes, swapped, static_cast<std::uint32_t*>(target), count);
  return read_values<std::uint64_t>(bytes, swapped, static_cast<std::uint64_t*>(target), count);
}

// Values of columns one behind the other, put into rows.
template <class T>
void copy_to_rows(const T* columns, const Shape& shape, T* rows) {
  const std::int64_t count = shape.num_elements();
  std::array<std::int64_t, Shape::kMaxRank> step{}, at{};
  std::int64_t next_step = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    step[static_cast<std::size_t>(axis)] = next_step;
    next_step *= shape[axis];
  }
  std::int64_t from = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    rows[i] = columns[from];
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      from += step[a];
      if (++at[a] < shape[axis]) break;
      from -= step[a] * shape[axis];
      at[a] = 0;
    }
  }
}

Tensor to_rows(const Tensor& columns) {
  Tensor rows = Tensor::empty(columns.dtype(), columns.shape(), cpu());
  const auto copy = [&]<class T>(T) {
    copy_to_rows(static_cast<const T*>(columns.raw()), columns.shape(), static_cast<T*>(rows.raw()));
  };
  switch (size_of(columns.dtype())) {
    case 1:
      copy(std::uint8_t{});
      break;
    case 2:
      copy(std::uint16_t{});
      break;
    case 4:
      copy(std::uint32_t{});
      break;
    default:
      copy(std::uint64_t{});
  }
  return rows;
}

// A truth value is one bit of its byte, whatever the file has there.
void normalize_truth(Tensor& values) {
  auto* bytes = static_cast<unsigned char*>(values.raw());
  for (std::size_t i = 0; i < values.bytes(); ++i) bytes[i] = bytes[i] != 0;
}

Tensor read_array(NpyBytes& bytes, const NpyHeader& header) {
  Tensor values = Tensor::empty(header.spec.dtype, header.spec.shape, cpu());
  if (header.swapped || header.width != size_of(header.spec.dtype)) {
    read_converted(bytes, header, values.raw());
  } else {
    bytes.read(values.raw(), static_cast<std::size_t>(header.data_bytes));
  }
  if (values.dtype() == DType::Bool) normalize_truth(values);
  return header.column_major ? to_rows(values) : values;
}

// The array where the file has it; undefined where it cannot be used there. Written to, it would not be the file's any
// more: pages are copied then.
Tensor mapped_array(const SourceFile& file, const NpyHeader& header, std::uint64_t offset) {
  const std::size_t width = size_of(header.spec.dtype);
  if (!header.is_tensor() || header.spec.dtype == DType::Bool || header.data_bytes == 0 || offset % width != 0)
    return {};
  const auto bytes = static_cast<std::size_t>(offset + header.data_bytes);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.descriptor(), 0);
  if (memory == MAP_FAILED) return {};
  return Tensor::from_blob(static_cast<char*>(memory) + offset, header.spec.dtype, header.spec.shape,
                           [memory, bytes] { ::munmap(memory, bytes); });
}

// Where arrays are, and what they were when the dataset was made.
struct NpySource {
  std::string file;
  std::uint64_t bytes = 0;           // of the file
  std::vector<std::string> members;  // of an archive; empty: the file is one array
  std::vector<TensorSpec> specs = {};
  std::shared_ptr<const DataRoots> roots = data_roots_in_force();
};

// The arrays.
class NpyColumns : public SourceColumns {
 public:
  explicit NpyColumns(NpySource source) : source_(std::move(source)) {}

 private:
  Tensors read() const override {
    const SourceFile file(source_.members.empty() ? kNpy : kNpz,
                          InputFile{.path = source_.file, .bytes = source_.bytes, .roots = source_.roots});
    if (source_.members.empty()) {
      NpyInFile bytes(file);
      const NpyHeader header = read_header(bytes, source_.file);
      check(header, source_.specs[0]);
      Tensor mapped = mapped_array(file, header, bytes.at());
      return {mapped.defined() ? mapped : read_array(bytes, header)};
    }
    Tensors columns;
    const ZipFile archive(file.descriptor(), source_.file);
    for (std::size_t i = 0; i < source_.members.size(); ++i) {
      const auto member = archive.open(source_.members[i]);
      NpyInZip bytes(*member);
      const NpyHeader header = read_header(bytes, source_.members[i]);
      check(header, source_.specs[i]);
      columns.push_back(read_array(bytes, header));
      member->finish();
    }
    return columns;
  }
  void check(const NpyHeader& header, const TensorSpec& expected) const {
    if (header.spec == expected) return;
    throw failed_precondition(kNpy, "an array as it was when the dataset was made is expected",
                              {{"file", source_.file}, {"array", header.spec}, {"array then", expected}},
                              "Make the dataset again.");
  }

  NpySource source_;
};

class NpyStage : public DatasetStage {
 public:
  NpyStage(NpySource source, const std::string& structure) {
    if (source.specs.empty()) throw invalid_argument(kNpz, "at least one array is expected", {{"file", source.file}});
    std::vector<TensorSpec> rows;
    for (const TensorSpec& spec : source.specs) {
      if (!is_plain(spec.dtype) || spec.shape.rank() == 0 || !spec.shape.fully_known()) {
        throw invalid_argument(kNpz, "arrays of at least one axis are expected", {{"array", spec}});
      }
      if (spec.shape[0] != source.specs[0].shape[0]) {
        throw invalid_argument(kNpz, "all arrays must have the same size along axis 0",
                               {{"file", source.file}, {"first", source.specs[0]}, {"other", spec}},
                               "Name the arrays that belong together.");
      }
      rows.push_back({spec.dtype, spec.shape.slice(1)});
    }
    count_ = source.specs[0].shape[0];
    spec_ = parse_structure(structure, rows);
    columns_ = std::make_shared<const NpyColumns>(std::move(source));
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return count_; }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<IndexedIterator>(indexed()); }
  bool is_indexed() const override { return true; }
  std::unique_ptr<IndexedElements> indexed() const override {
    return rows_by_number(columns_, static_cast<std::uint64_t>(count_));
  }

 private:
  std::shared_ptr<const NpyColumns> columns_;
  std::int64_t count_ = 0;
  ElementSpec spec_;
};

std::string spec_attribute(const char* what, std::size_t array) { return what + std::to_string(array); }

std::shared_ptr<const DatasetStage> make_npy(const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kNpy, inputs);
  NpySource source{attributes.get<std::string>("file"),
                   static_cast<std::uint64_t>(attributes.get<std::int64_t>("bytes")),
                   attributes.get<std::vector<std::string>>("members")};
  for (std::size_t i = 0; i < std::max<std::size_t>(source.members.size(), 1); ++i) {
    source.specs.push_back(
        {attributes.get<DType>(spec_attribute("dtype_", i)), attributes.get<Shape>(spec_attribute("shape_", i))});
  }
  return std::make_shared<NpyStage>(std::move(source), attributes.get<std::string>("structure"));
}

COHORT_DATASET("npy", make_npy);

Dataset dataset_of(const NpySource& source, const std::string& structure) {
  Attributes attributes{{"file", source.file},
                        {"bytes", static_cast<std::int64_t>(source.bytes)},
                        {"members", source.members},
                        {"structure", structure}};
  for (std::size_t i = 0; i < source.specs.size(); ++i) {
    attributes.set(spec_attribute("dtype_", i), source.specs[i].dtype);
    attributes.set(spec_attribute("shape_", i), source.specs[i].shape);
  }
  return Dataset::make("npy", {}, std::move(attributes));
}

constexpr std::string_view kNpySuffix = ".npy";

std::string without_suffix(const std::string& member) {
  return member.ends_with(kNpySuffix) ? member.substr(0, member.size() - kNpySuffix.size()) : member;
}

}  // namespace

Dataset npy(const std::string& file) {
  const SourceFile opened(kNpy, file);
  NpyInFile bytes(opened);
  return dataset_of({file, opened.size(), {}, {read_header(bytes, file).spec}}, "*");
}

Dataset npz(const std::string& file, const std::vector<std::string>& names) {
  const SourceFile opened(kNpz, file);
  if (opened.descriptor() < 0) {
    throw invalid_argument(kNpz, "an archive on this machine is expected", {{"file", file}}, "Fetch it first.");
  }
  const ZipFile archive(opened.descriptor(), file);
  NpySource source{file, opened.size(), {}};
  if (names.empty()) source.members = archive.names();
  for (const std::string& name : names) source.members.push_back(name + std::string(kNpySuffix));
  if (source.members.empty()) throw invalid_argument(kNpz, "at least one array is expected", {{"file", file}});
  std::vector<Tree<int>> tuple;
  std::vector<Tree<int>::Named> dict;
  for (const std::string& member : source.members) {
    const auto opened_member = archive.open(member);
    NpyInZip bytes(*opened_member);
    source.specs.push_back(read_header(bytes, member).spec);
    tuple.emplace_back(0);
    dict.emplace_back(without_suffix(member), 0);
  }
  if (names.empty()) return dataset_of(source, structure_of(Tree<int>::dict(std::move(dict))));
  return dataset_of(source, names.size() == 1 ? "*" : structure_of(Tree<int>::tuple(std::move(tuple))));
}

}  // namespace cohort::datasets
