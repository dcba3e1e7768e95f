#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <mutex>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/data/broken_source.h"
#include "cohort/data/row_stream.h"
#include "cohort/datasets/sources/column_file.h"
#include "cohort/datasets/transforms/cache.h"
#include "cohort/datasets/transforms/transform.h"
#include "cohort/files/data_root.h"

namespace cohort::datasets {
namespace {

constexpr const char* kCacheInFile = "Dataset.cache";

// Who holds it writes the file beside it. The system takes it from a process however that ends.
class WritersLock {
 public:
  explicit WritersLock(const std::string& file) : path_(file + ".lock") {
    std::error_code problem;
    const auto folder = std::filesystem::path(file).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, problem);
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor_ < 0) return;
    struct stat about {};
    // Some file systems have no locks: two then write, each a whole file, of which one stays.
    const bool taken = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    // Whoever held it before may just have removed it.
    if (taken || (::fstat(descriptor_, &about) == 0 && about.st_nlink == 0)) {
      ::close(descriptor_);
      descriptor_ = -1;
      is_taken_ = true;
    }
  }
  ~WritersLock() {
    if (descriptor_ < 0) return;
    ::unlink(path_.c_str());
    ::close(descriptor_);
  }
  WritersLock(const WritersLock&) = delete;
  // Whether somebody else has it.
  bool is_taken() const { return is_taken_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  bool is_taken_ = false;
};

// The file, mapped once it is there, shared by all iterators of the dataset. Thread-safe.
class CachedFile {
 public:
  CachedFile(std::string path, const Dataset& input)
      : path_(std::move(path)), fingerprint_(input.fingerprint()), spec_(input.element_spec()) {}

  const std::string& path() const { return path_; }
  const ElementSpec& spec() const { return spec_; }
  std::uint64_t fingerprint() const { return fingerprint_; }
  // nullptr while there is none; throws for one of another dataset.
  std::shared_ptr<const ColumnFile> find() {
    std::lock_guard lock(mutex_);
    std::error_code problem;
    if (file_ || !std::filesystem::exists(path_, problem)) return file_;
    auto file = std::make_shared<const ColumnFile>(kCacheInFile, path_);
    if (file->info().fingerprint != fingerprint_ || to_string(file->info().spec) != to_string(spec_)) {
      throw failed_precondition(
          kCacheInFile, "a file that was written for the same dataset is expected",
          {{"file", path_}, {"elements", to_string(file->info().spec)}, {"elements expected", to_string(spec_)}},
          "Delete the file, or give another name.");
    }
    file_ = std::move(file);
    return file_;
  }

 private:
  std::string path_;
  std::uint64_t fingerprint_;
  ElementSpec spec_;
  std::mutex mutex_;
  std::shared_ptr<const ColumnFile> file_;
};

// Every pass gives the elements that come when the input stands at `start_`, from the file or from the input.
class FileCacheIterator : public TransformIterator {
 public:
  FileCacheIterator(std::unique_ptr<DatasetIterator> input, std::shared_ptr<CachedFile> cached)
      : TransformIterator(std::move(input)), cached_(std::move(cached)) {
    write_input_state(start_);
    adopt();
  }

  bool next(Tensors& element) override {
    if (file_) {
      if (position_ == file_->info().count) return false;
      file_->read(position_++, element);
      return true;
    }
    begin_writing();
    bool got = false;
    try {
      got = input_->next(element);
    } catch (const BrokenSource&) {
      stop_writing();
      throw;
    } catch (...) {
      stop_writing();
      ++position_;
      throw;
    }
    if (!got) {
      finish_writing();
      return false;
    }
    const std::optional<ElementKey> key = input_->key();
    number_ = key ? key->number : position_;
    ++position_;
    if (writer_) write(element);
    return true;
  }

  // A pass that is being written goes on being written.
  std::uint64_t skip(std::uint64_t count) override {
    if (count == 0) return 0;
    std::uint64_t passed = 0;
    if (file_) {
      passed = std::min(count, file_->info().count - position_);
    } else {
      begin_writing();
      if (writer_) return DatasetIterator::skip(count);
      passed = input_->skip(count);
      if (const std::optional<ElementKey> key = input_->key(); passed > 0) {
        number_ = key ? key->number : position_ + passed - 1;
      }
    }
    position_ += passed;
    return passed;
  }
  std::optional<ElementKey> key() const override {
    if (position_ == 0) return std::nullopt;
    return ElementKey{pass_, file_ ? file_->number(position_ - 1) : number_};
  }
  void rewind() override {
    stop_writing();
    ++pass_;
    position_ = 0;
    if (!file_) adopt();
    if (file_) return;
    restore_input(start_);
    may_write_ = true;
  }
  void save_to(StateWriter& state) const override {
    state.stage('D');
    state.number(pass_);
    state.number(position_);
    state.bytes(start_);
  }
  void restore_from(StateReader& state) override {
    state.stage('D');
    const std::uint64_t pass = state.number(), position = state.number();
    const std::string_view start = state.bytes();
    stop_writing();
    if (!file_) adopt_if(start);
    if (file_ && file_->info().start != start) file_ = nullptr;
    if (!file_) restore_input(start);
    start_ = start;
    pass_ = pass;
    position_ = 0;
    may_write_ = position == 0;
    pass_over(position);
  }

 protected:
  const std::shared_ptr<const ColumnFile>& file() const { return file_; }
  std::optional<ElementKey> pass_rows(std::size_t count) {
    const ElementKey first{pass_, file_->number(position_)};
    position_ += count;
    return first;
  }
  std::uint64_t position() const { return position_; }

 private:
  void adopt() {
    file_ = cached_->find();
    if (file_) start_ = file_->info().start;
  }
  void adopt_if(std::string_view start) {
    const std::shared_ptr<const ColumnFile> found = cached_->find();
    if (found && found->info().start == start) file_ = found;
  }
  void begin_writing() {
    if (position_ != 0 || !std::exchange(may_write_, false)) return;
    try {
      auto lock = std::make_unique<WritersLock>(cached_->path());
      std::error_code problem;
      if (lock->is_taken() || std::filesystem::exists(cached_->path(), problem)) return;
      writer_ = std::make_unique<ColumnFileWriter>(kCacheInFile, cached_->path(), cached_->spec());
      lock_ = std::move(lock);
    } catch (const Error& error) {
      throw BrokenSource(error);  // no element has been read
    }
  }
  void stop_writing() {
    writer_.reset();
    lock_.reset();
    may_write_ = false;
  }
  void write(const Tensors& element) {
    try {
      writer_->append(element, number_);
    } catch (...) {
      stop_writing();
      throw;
    }
  }
  void finish_writing() {
    if (!writer_) return;
    try {
      writer_->commit(cached_->fingerprint(), start_);
    } catch (...) {
      stop_writing();
      throw;
    }
    stop_writing();
  }

  std::shared_ptr<CachedFile> cached_;
  std::string start_;  // the input's state before the first element
  std::shared_ptr<const ColumnFile> file_;
  std::unique_ptr<WritersLock> lock_;
  std::unique_ptr<ColumnFileWriter> writer_;
  bool may_write_ = true;  // in this pass, which nobody has begun
  std::uint64_t pass_ = 0, position_ = 0;
  std::uint64_t number_ = 0;  // what the last element is known by
};

// Where all types and shapes are known, batch has its rows copied straight from the file.
class FileCacheRows : public FileCacheIterator, public RowStream {
 public:
  FileCacheRows(std::unique_ptr<DatasetIterator> input, std::shared_ptr<CachedFile> cached, const ElementSpec& spec)
      : FileCacheIterator(std::move(input), std::move(cached)), specs_(spec.flatten()) {}

  Rows next_rows(std::span<const RowMemory> leaves, std::size_t count) override {
    if (!file()) return next_rows_of_input(leaves, count);
    const auto got = static_cast<std::size_t>(std::min<std::uint64_t>(count, file()->info().count - position()));
    if (got == 0) return {};
    const std::uint64_t first = position();
    const std::optional<ElementKey> key = pass_rows(got);
    file()->read_rows(first, got, leaves);
    return {got, key};
  }

 private:
  Rows next_rows_of_input(std::span<const RowMemory> leaves, std::size_t count) {
    Rows rows;
    try {
      for (; rows.count < count && next(element_); ++rows.count) {
        if (rows.count == 0) rows.first = key();
        for (std::size_t i = 0; i < leaves.size(); ++i) write_leaf(i, leaves[i], rows.count);
      }
    } catch (const BrokenSource&) {
      throw;
    } catch (...) {
      const std::exception_ptr error = std::current_exception();
      skip(count - rows.count - 1);
      std::rethrow_exception(error);
    }
    return rows;
  }
  void write_leaf(std::size_t i, const RowMemory& memory, std::size_t row) {
    if (specs_[i].dtype != DType::String) return write_row(element_[i], specs_[i], memory, row);
    const auto* from = static_cast<const std::string*>(element_[i].raw());
    std::copy_n(from, element_[i].num_elements(),
                reinterpret_cast<std::string*>(memory.first + row * memory.row_bytes));
  }

  Specs specs_;
  Tensors element_;
};

class CacheInFileStage : public TransformStage {
 public:
  CacheInFileStage(const std::vector<Dataset>& inputs, const std::string& file)
      : TransformStage(kCacheInFile, inputs), cached_(std::make_shared<CachedFile>(file, input())) {
    const Specs specs = element_spec().flatten();
    known_ = std::all_of(specs.begin(), specs.end(), [](const TensorSpec& leaf) { return leaf.shape.fully_known(); });
  }
  // Known once the file is there.
  std::int64_t cardinality() const override {
    const std::int64_t available = input().cardinality();
    if (available != kUnknownCardinality) return available;
    const std::shared_ptr<const ColumnFile> file = cached_->find();
    return file ? static_cast<std::int64_t>(file->info().count) : kUnknownCardinality;
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    if (known_) return std::make_unique<FileCacheRows>(input().make_iterator(), cached_, element_spec());
    return std::make_unique<FileCacheIterator>(input().make_iterator(), cached_);
  }

 private:
  std::shared_ptr<CachedFile> cached_;
  bool known_ = false;
};

COHORT_DATASET("cache_in_file", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  const auto file = attributes.get<std::string>("file");
  check_may_write(kCacheInFile, file);
  return std::make_shared<CacheInFileStage>(inputs, file);
});

}  // namespace
}  // namespace cohort::datasets
