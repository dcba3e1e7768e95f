#include "cohort/datasets/sources/whole_files.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/sources/file_elements.h"
#include "cohort/datasets/sources/file_records.h"
#include "cohort/datasets/sources/source.h"

namespace cohort::datasets {
namespace {

constexpr const char* kWholeFiles = "datasets.whole_files";

using ManyFiles = std::shared_ptr<const std::vector<InputFile>>;

class ElementsOfFiles : public IndexedElements {
 public:
  ElementsOfFiles(ManyFiles files, std::shared_ptr<const FileReader> reader)
      : files_(std::move(files)), reader_(std::move(reader)) {}

  std::uint64_t count() const override { return files_->size(); }
  bool blocks() const override { return true; }
  ElementKey key(ElementPlace place) const override { return {place.pass, place.position}; }
  void read(ElementPlace place, Tensors& element) const override {
    reader_->read((*files_)[static_cast<std::size_t>(place.position)], element);
  }

 private:
  ManyFiles files_;
  std::shared_ptr<const FileReader> reader_;
};

class StageOfFiles : public DatasetStage {
 public:
  StageOfFiles(std::vector<InputFile> files, ElementSpec spec, std::shared_ptr<const FileReader> reader)
      : files_(std::make_shared<const std::vector<InputFile>>(std::move(files))),
        spec_(std::move(spec)),
        reader_(std::move(reader)) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return static_cast<std::int64_t>(files_->size()); }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<IndexedIterator>(indexed()); }
  bool is_indexed() const override { return true; }
  std::unique_ptr<IndexedElements> indexed() const override {
    return std::make_unique<ElementsOfFiles>(files_, reader_);
  }

 private:
  ManyFiles files_;
  ElementSpec spec_;
  std::shared_ptr<const FileReader> reader_;
};

class ContentsReader : public FileReader {
 public:
  explicit ContentsReader(std::int64_t most) : most_(most < 0 ? UINT64_MAX : static_cast<std::uint64_t>(most)) {}
  void read(const InputFile& file, Tensors& element) const override {
    element.resize(1);
    renew_leaf({DType::String, {}}, element[0]);
    read_whole_file(kWholeFiles, file, most_, *static_cast<std::string*>(element[0].raw()));
  }

 private:
  std::uint64_t most_;
};

COHORT_DATASET("whole_files", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kWholeFiles, inputs);
  return stage_of_files(input_files_of(kWholeFiles, attributes), TensorSpec{DType::String, {}},
                        std::make_shared<const ContentsReader>(attributes.get<std::int64_t>("max_length")));
});

}  // namespace

std::shared_ptr<const DatasetStage> stage_of_files(std::vector<InputFile> files, ElementSpec spec,
                                                   std::shared_ptr<const FileReader> reader) {
  return std::make_shared<const StageOfFiles>(std::move(files), std::move(spec), std::move(reader));
}

void read_whole_file(const char* who, const InputFile& file, std::uint64_t most, std::string& contents) {
  const SourceFile opened(who, file);
  const std::uint64_t bytes = std::min(most, opened.size());
  if (bytes > kMostRecordBytes) {
    throw invalid_argument(who, "a file of at most 1 GiB is expected", {{"file", file.path}, {"bytes", bytes}});
  }
  contents.resize(static_cast<std::size_t>(bytes));
  opened.read_at(0, contents.data(), contents.size());
}

Dataset whole_files(const std::vector<std::string>& files, const WholeFilesOptions& options) {
  if (options.max_length < -1) {
    throw invalid_argument(kWholeFiles, "a length of at least 0, or -1, is expected",
                           {{"max_length", options.max_length}});
  }
  Attributes attributes{{"max_length", options.max_length}};
  add_input_files(find_input_files(kWholeFiles, files), attributes);
  return Dataset::make("whole_files", {}, std::move(attributes));
}

}  // namespace cohort::datasets
