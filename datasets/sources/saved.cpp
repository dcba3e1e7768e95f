#include "cohort/datasets/sources/saved.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/sources/column_file.h"
#include "cohort/datasets/sources/source.h"
#include "cohort/datasets/transforms/spec_attributes.h"
#include "cohort/files/atomic_file.h"

namespace cohort::datasets {
namespace {

constexpr const char* kSave = "Dataset.save";
constexpr const char* kLoad = "datasets.load";
constexpr std::int64_t kMostShards = 1024;

std::string shard_name(std::size_t shard, std::size_t shards) {
  return "part-" + std::to_string(shard) + "-of-" + std::to_string(shards) + ".columns";
}

// The shards that a folder holds; empty where save() did not write it.
std::vector<std::string> shards_of(const std::string& folder) {
  std::error_code problem;
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
    found.push_back(entry.path().filename().string());
  }
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string name = shard_name(i, found.size());
    if (std::find(found.begin(), found.end(), name) == found.end()) return {};
    expected.push_back((std::filesystem::path(folder) / name).string());
  }
  return expected;
}

// A folder that is filled under another name. Without commit() nothing is left.
class NewFolder {
 public:
  explicit NewFolder(const std::string& path) : path_(without_slashes(path)) {
    static std::atomic<int> folders{0};
    const std::string mark = std::to_string(::getpid()) + "." + std::to_string(folders++);
    temporary_ = path_ + ".tmp." + mark;
    old_ = path_ + ".old." + mark;
    std::error_code problem;
    std::filesystem::create_directories(temporary_, problem);
    if (problem) fail(problem);
  }
  ~NewFolder() {
    std::error_code ignored;
    if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
  }
  NewFolder(const NewFolder&) = delete;

  std::string file(const std::string& name) const { return (std::filesystem::path(temporary_) / name).string(); }
  void commit() {
    std::error_code problem, ignored;
    const bool replaces = std::filesystem::exists(path_, ignored);
    if (replaces) std::filesystem::rename(path_, old_, problem);
    if (!problem) std::filesystem::rename(temporary_, path_, problem);
    if (problem) {
      if (replaces) std::filesystem::rename(old_, path_, ignored);
      fail(problem);
    }
    temporary_.clear();
    const auto above = std::filesystem::path(path_).parent_path();
    sync_folder(above.empty() ? "." : above.string());
    if (replaces) std::filesystem::remove_all(old_, ignored);
  }

 private:
  static std::string without_slashes(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
  }
  [[noreturn]] void fail(const std::error_code& problem) const {
    throw Error(ErrorCode::ResourceExhausted, kSave, "the folder must be made",
                {{"folder", path_}, {"error", problem.message()}}, "See that the folder above it is writable.");
  }

  std::string path_, temporary_, old_;
};

void check_replaceable(const std::string& folder) {
  std::error_code problem;
  if (folder.empty()) throw invalid_argument(kSave, "the name of a folder is expected", {{"folder", folder}});
  if (!std::filesystem::exists(folder, problem)) return;
  if (std::filesystem::is_directory(folder, problem) &&
      (std::filesystem::is_empty(folder, problem) || !shards_of(folder).empty())) {
    return;
  }
  throw failed_precondition(kSave, "a new folder, or one that save has written, is expected", {{"folder", folder}},
                            "Give another folder.");
}

// The files of a folder as they were when the dataset was made, mapped when first needed. Thread-safe.
class SavedFiles {
 public:
  SavedFiles(std::vector<InputFile> files, ElementSpec spec, std::uint64_t count)
      : files_(std::move(files)), spec_(std::move(spec)), count_(count) {}

  std::uint64_t count() const { return count_; }
  std::size_t shards() const { return files_.size(); }
  const ColumnFile& get(std::size_t shard) const {
    return *opened_.get([this] { return open(); })[shard];
  }

 private:
  using Opened = std::vector<std::unique_ptr<const ColumnFile>>;

  Opened open() const {
    Opened opened;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      opened.push_back(std::make_unique<const ColumnFile>(kLoad, files_[i]));
      check(i, opened.back()->info());
    }
    return opened;
  }
  void check(std::size_t shard, const ColumnFileInfo& info) const {
    const std::uint64_t expected = count_ / files_.size() + (shard < count_ % files_.size() ? 1 : 0);
    if (info.count == expected && to_string(info.spec) == to_string(spec_)) return;
    throw failed_precondition(kLoad, "a file as it was when the dataset was made is expected",
                              {{"file", files_[shard].path},
                               {"elements", info.count},
                               {"elements then", expected},
                               {"element", to_string(info.spec)},
                               {"element then", to_string(spec_)}},
                              "Load the folder again.");
  }

  std::vector<InputFile> files_;
  ElementSpec spec_;
  std::uint64_t count_;
  ReadOnce<Opened> opened_;
};

class SavedElements : public IndexedElements {
 public:
  explicit SavedElements(std::shared_ptr<const SavedFiles> files) : files_(std::move(files)) {}

  std::uint64_t count() const override { return files_->count(); }
  ElementKey key(ElementPlace place) const override { return {place.pass, place.position}; }
  const Tensors* columns() const override { return files_->shards() == 1 ? files_->get(0).columns() : nullptr; }
  void read(ElementPlace place, Tensors& element) const override {
    const std::uint64_t shards = files_->shards();
    files_->get(static_cast<std::size_t>(place.position % shards)).read(place.position / shards, element);
  }

 private:
  std::shared_ptr<const SavedFiles> files_;
};

class SavedStage : public DatasetStage {
 public:
  SavedStage(std::vector<InputFile> files, ElementSpec spec, std::int64_t count) : spec_(std::move(spec)) {
    if (count < 0 || files.empty()) {
      throw invalid_argument(kLoad, "files and a number of elements are expected",
                             {{"files.size", files.size()}, {"count", count}});
    }
    files_ = std::make_shared<const SavedFiles>(std::move(files), spec_, static_cast<std::uint64_t>(count));
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return static_cast<std::int64_t>(files_->count()); }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<IndexedIterator>(indexed()); }
  bool is_indexed() const override { return true; }
  std::unique_ptr<IndexedElements> indexed() const override { return std::make_unique<SavedElements>(files_); }

 private:
  ElementSpec spec_;
  std::shared_ptr<const SavedFiles> files_;
};

COHORT_DATASET("load", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kLoad, inputs);
  return std::make_shared<SavedStage>(input_files_of(kLoad, attributes), element_spec_of(kLoad, attributes),
                                      attributes.get<std::int64_t>("count"));
});

}  // namespace

void save(const Dataset& dataset, const std::string& folder, const SaveOptions& options) {
  if (options.num_shards < 1 || options.num_shards > kMostShards) {
    throw invalid_argument(kSave, "1 to 1024 files are expected", {{"num_shards", options.num_shards}});
  }
  if (dataset.cardinality() == kInfiniteCardinality) {
    throw invalid_argument(kSave, "a dataset that ends is expected", {{"cardinality", dataset.cardinality()}},
                           "Use take before.");
  }
  check_replaceable(folder);
  NewFolder target(folder);
  const auto shards = static_cast<std::size_t>(options.num_shards);
  std::vector<std::unique_ptr<ColumnFileWriter>> writers;
  for (std::size_t i = 0; i < shards; ++i) {
    writers.push_back(
        std::make_unique<ColumnFileWriter>(kSave, target.file(shard_name(i, shards)), dataset.element_spec()));
  }
  const auto iterator = dataset.make_iterator();
  Tensors element;
  for (std::uint64_t number = 0; iterator->next(element); ++number) {
    writers[static_cast<std::size_t>(number % shards)]->append(element, number / shards);
  }
  for (const auto& writer : writers) writer->commit(dataset.fingerprint(), {});
  target.commit();
}

Dataset load(const std::string& folder) {
  const std::vector<std::string> shards = shards_of(folder);
  if (shards.empty()) {
    throw not_found(kLoad, "a folder that Dataset.save has written is expected", {{"folder", folder}});
  }
  Attributes attributes;
  std::vector<InputFile> files;
  std::uint64_t count = 0;
  for (const std::string& shard : shards) {
    const ColumnFile file(kLoad, shard);
    files.push_back({shard, file.bytes()});
    if (files.size() == 1) add_element_spec(file.info().spec, attributes);
    count += file.info().count;
  }
  add_input_files(files, attributes);
  attributes.set("count", static_cast<std::int64_t>(count));
  return Dataset::make("load", {}, std::move(attributes));
}

}  // namespace cohort::datasets
