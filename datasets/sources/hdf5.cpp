#include "cohort/datasets/sources/hdf5.h"

#include "cohort/core/error.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/sources/source.h"
#include "cohort/datasets/sources/source_file.h"
#include "cohort/datasets/transforms/spec_attributes.h"
#include "cohort/saving/hdf5/hdf5_file.h"
#include "cohort/saving/hdf5/hdf5_rows.h"

namespace cohort::datasets {
namespace {

constexpr const char* kHdf5 = "datasets.hdf5";

// Its library opens by itself what such a file names: other files, wherever they are.
void refuse_for_others(const InputFile& file) {
  if (!file.roots) return;
  throw Error(ErrorCode::PermissionDenied, kHdf5, "HDF5 files are not read for another process", {{"file", file.path}},
              "Give npy files or TFRecords, or serve with --data-root /.");
}

using Hdf5Columns = std::vector<std::unique_ptr<const Hdf5Rows>>;

Hdf5Columns open_columns(const std::string& file, const std::vector<std::string>& names) {
  const auto opened = std::make_shared<const Hdf5File>(Hdf5File::open(file));
  Hdf5Columns columns;
  for (const std::string& name : names) columns.push_back(std::make_unique<const Hdf5Rows>(opened, name));
  return columns;
}

// What a dataset is made from.
struct Hdf5Source {
  std::vector<InputFile> files;  // one
  std::vector<std::string> names;
  Specs specs;  // of rows
  std::uint64_t count = 0;
};

// The file, opened when it is first asked for. Thread-safe.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(Hdf5Source source) : source_(std::move(source)) {}

  const Hdf5Source& source() const { return source_; }
  const Hdf5Columns& get() const {
    return columns_.get([this] { return open(); });
  }

 private:
  Hdf5Columns open() const {
    refuse_for_others(source_.files[0]);
    const SourceFile as_it_was(kHdf5, source_.files[0]);
    Hdf5Columns columns = open_columns(source_.files[0].path, source_.names);
    for (std::size_t i = 0; i < columns.size(); ++i) check(i, columns[i]->spec());
    return columns;
  }
  void check(std::size_t i, const TensorSpec& found) const {
    if (found.dtype == source_.specs[i].dtype && found.shape.slice(1) == source_.specs[i].shape &&
        static_cast<std::uint64_t>(found.shape[0]) == source_.count) {
      return;
    }
    throw failed_precondition(kHdf5, "a dataset as it was when the dataset was made is expected",
                              {{"file", source_.files[0].path},
                               {"dataset", source_.names[i]},
                               {"found", found},
                               {"rows then", source_.count},
                               {"row then", source_.specs[i]}},
                              "Make the dataset again.");
  }

  Hdf5Source source_;
  ReadOnce<Hdf5Columns> columns_;
};

class Hdf5Elements : public IndexedElements {
 public:
  explicit Hdf5Elements(std::shared_ptr<const Hdf5Reader> reader) : reader_(std::move(reader)) {}

  std::uint64_t count() const override { return reader_->source().count; }
  bool blocks() const override { return true; }
  ElementKey key(ElementPlace place) const override { return {place.pass, place.position}; }
  void read(ElementPlace place, Tensors& element) const override {
    const Hdf5Columns& columns = reader_->get();
    const Specs& specs = reader_->source().specs;
    element.resize(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      element[i].renew(specs[i].dtype, specs[i].shape, cpu());
      columns[i]->read(place.position, static_cast<char*>(element[i].raw()));
    }
  }
  void read_rows(std::span<const ElementPlace> places, std::span<const RowMemory> leaves, const Specs&) const override {
    const Hdf5Columns& columns = reader_->get();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (std::size_t row = 0; row < places.size(); ++row) {
        columns[i]->read(places[row].position, leaves[i].first + row * leaves[i].row_bytes);
      }
    }
  }

 private:
  std::shared_ptr<const Hdf5Reader> reader_;
};

class Hdf5Stage : public DatasetStage {
 public:
  Hdf5Stage(Hdf5Source source, ElementSpec spec)
      : spec_(std::move(spec)), reader_(std::make_shared<const Hdf5Reader>(std::move(source))) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return static_cast<std::int64_t>(reader_->source().count); }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<IndexedIterator>(indexed()); }
  bool is_indexed() const override { return true; }
  std::unique_ptr<IndexedElements> indexed() const override { return std::make_unique<Hdf5Elements>(reader_); }

 private:
  ElementSpec spec_;
  std::shared_ptr<const Hdf5Reader> reader_;
};

std::shared_ptr<const DatasetStage> make_hdf5(const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kHdf5, inputs);
  const ElementSpec spec = element_spec_of(kHdf5, attributes);
  const std::int64_t count = attributes.get<std::int64_t>("count");
  Hdf5Source source{input_files_of(kHdf5, attributes), attributes.get<std::vector<std::string>>("names"),
                    spec.flatten(), static_cast<std::uint64_t>(count)};
  if (count < 0 || source.files.size() != 1 || source.names.empty() || source.names.size() != source.specs.size()) {
    throw invalid_argument(kHdf5, "one file and its datasets are expected",
                           {{"files", source.files.size()}, {"names", source.names.size()}, {"count", count}});
  }
  return std::make_shared<Hdf5Stage>(std::move(source), spec);
}

COHORT_DATASET("hdf5", make_hdf5);

}  // namespace

Dataset hdf5(const std::string& file, const std::vector<std::string>& names) {
  if (names.empty()) throw invalid_argument(kHdf5, "the name of at least one dataset is expected", {{"file", file}});
  Attributes attributes{{"names", names}};
  const std::vector<InputFile> files = find_input_files(kHdf5, {file});
  refuse_for_others(files[0]);
  add_input_files(files, attributes);
  std::vector<ElementSpec> rows;
  std::int64_t count = 0;
  for (const auto& column : open_columns(file, names)) {
    const TensorSpec& spec = column->spec();
    if (!rows.empty() && spec.shape[0] != count) {
      throw invalid_argument(
          kHdf5, "all datasets must have the same size along axis 0",
          {{"file", file}, {"dataset", names[rows.size()]}, {"rows", spec.shape[0]}, {"first", count}},
          "Name the datasets that belong together.");
    }
    count = spec.shape[0];
    rows.emplace_back(TensorSpec{spec.dtype, spec.shape.slice(1)});
  }
  attributes.set("count", count);
  add_element_spec(names.size() == 1 ? rows[0] : ElementSpec::tuple(rows), attributes);
  return Dataset::make("hdf5", {}, std::move(attributes));
}

}  // namespace cohort::datasets
