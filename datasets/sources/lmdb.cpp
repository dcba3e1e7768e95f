#include "cohort/datasets/sources/lmdb.h"

#ifdef COHORT_HAS_LMDB
#include <lmdb.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/sources/file_records.h"
#include "cohort/datasets/sources/source.h"
#include "cohort/datasets/sources/source_file.h"

namespace cohort::datasets {
namespace {

constexpr const char* kLmdb = "datasets.lmdb";
constexpr const char* kLmdbData = "data.mdb";

// What a dataset is made from.
struct LmdbSource {
  InputFile file;
  std::uint64_t count = 0;        // of entries
  std::uint64_t transaction = 0;  // the last one that was committed to it
};

// What the beginning of the file says.
struct LmdbMeta {
  std::uint64_t page_bytes = 0, last_page = 0, root = 0, count = 0, transaction = 0;
};

[[noreturn]] void wrong_lmdb(const std::string& file, const char* expected, const char* problem) {
  throw Error(ErrorCode::DataLoss, kLmdb, expected, {{"file", file}, {"problem", problem}},
              "Copy the environment again with mdb_copy, or write it again.");
}

template <class T>
T lmdb_number(const char* page, std::size_t offset) {
  T value;
  std::memcpy(&value, page + offset, sizeof value);
  return value;
}

// A page that tells of the whole, as LMDB 0.9 has it on 64 bits: its header, magic number and version, an address and
// the size of the map, the databases of free pages and of entries (48 bytes each), the last page and the transaction.
LmdbMeta read_lmdb_meta(const SourceFile& file, std::uint64_t offset) {
  constexpr std::size_t kFlags = 10, kMagic = 16, kVersion = 20, kPageBytes = 40, kMain = 88, kLastPage = 136;
  constexpr std::uint16_t kIsMeta = 8;
  char page[152];
  constexpr const char* kExpected = "an LMDB environment is expected";
  if (file.read_at(offset, page, sizeof page) < sizeof page) wrong_lmdb(file.path(), kExpected, "it is too short");
  if (lmdb_number<std::uint32_t>(page, kMagic) != 0xBEEFC0DEu ||
      (lmdb_number<std::uint16_t>(page, kFlags) & kIsMeta) == 0) {
    wrong_lmdb(file.path(), kExpected, "its first pages are something else");
  }
  if (lmdb_number<std::uint32_t>(page, kVersion) != 1) {
    wrong_lmdb(file.path(), "an LMDB environment of data version 1 is expected", "it has another version");
  }
  return {lmdb_number<std::uint32_t>(page, kPageBytes), lmdb_number<std::uint64_t>(page, kLastPage),
          lmdb_number<std::uint64_t>(page, kMain + 40), lmdb_number<std::uint64_t>(page, kMain + 32),
          lmdb_number<std::uint64_t>(page, kLastPage + 8)};
}

// The newer of the two pages that tell. liblmdb believes them and maps the file, so they are checked before it sees
// them: a file that is none or was cut off is an error, where liblmdb would end the process. What it follows from
// there, pages of keys and what they say about values, is not checked before it is followed.
LmdbMeta check_lmdb_file(const SourceFile& file) {
  const LmdbMeta first = read_lmdb_meta(file, 0);
  constexpr std::uint64_t kLeastPage = 256, kMostPage = 65536, kNone = UINT64_MAX;
  if (first.page_bytes < kLeastPage || first.page_bytes > kMostPage || !std::has_single_bit(first.page_bytes)) {
    wrong_lmdb(file.path(), "an LMDB environment is expected", "its pages have an impossible size");
  }
  const LmdbMeta second = read_lmdb_meta(file, first.page_bytes);
  for (const LmdbMeta& meta : {first, second}) {
    const std::uint64_t pages = file.size() / first.page_bytes;
    if (meta.page_bytes != first.page_bytes || meta.last_page >= pages ||
        (meta.root != kNone && meta.root > meta.last_page)) {
      wrong_lmdb(file.path(), "a whole LMDB environment is expected", "its pages reach beyond its end");
    }
    // An entry takes 8 bytes at least, 2 where its key has other values.
    if (meta.count > file.size() / 2 || (meta.root == kNone) != (meta.count == 0)) {
      wrong_lmdb(file.path(), "a whole LMDB environment is expected", "it has an impossible number of entries");
    }
  }
  return second.transaction > first.transaction ? second : first;
}

// Where an entry is in the mapped file.
struct LmdbEntry {
  const char* key;
  const char* value;
  std::uint32_t value_bytes;
  std::uint16_t key_bytes;
};

#ifndef COHORT_HAS_LMDB

void check_lmdb_is_known() {
  throw unimplemented(kLmdb, "a library built with liblmdb is expected", {},
                      "Install liblmdb's development package and build again.");
}

// Of a library without liblmdb: nobody gets so far as to make one.
class LmdbEntries {
 public:
  explicit LmdbEntries(const LmdbSource&) { check_lmdb_is_known(); }
  const LmdbEntry& operator[](std::uint64_t) const { return entry_; }

 private:
  LmdbEntry entry_{};
};

#else

void check_lmdb_is_known() {}

void check_lmdb_call(int status, const std::string& file) {
  if (status == MDB_SUCCESS) return;
  throw Error(status == ENOMEM || status == MDB_READERS_FULL ? ErrorCode::ResourceExhausted : ErrorCode::DataLoss,
              kLmdb, "an LMDB environment that can be read is expected",
              {{"file", file}, {"problem", mdb_strerror(status)}});
}

// Environments that this process has open. Each is opened once: closing it a second time would give up the locks of
// the first, as locks of files are the process's. Thread-safe.
class LmdbEnvironments {
 public:
  using Id = std::tuple<dev_t, ino_t, bool>;

  static LmdbEnvironments& instance() {
    static auto* environments = new LmdbEnvironments;  // stays, for datasets that end with the program
    return *environments;
  }
  // What open() gives unless it is open; to be given back by release().
  template <class Open>
  MDB_env* acquire(const Id& id, const Open& open) {
    std::lock_guard lock(mutex_);
    const auto found = open_.find(id);
    if (found != open_.end()) {
      ++found->second.users;
      return found->second.environment;
    }
    MDB_env* environment = open();
    open_[id] = {environment, 1};
    return environment;
  }
  // The database without a name. To open it writes to what all transactions share.
  MDB_dbi main_database(MDB_txn* transaction, const std::string& file) {
    std::lock_guard lock(mutex_);
    MDB_dbi database = 0;
    check_lmdb_call(mdb_dbi_open(transaction, nullptr, 0, &database), file);
    return database;
  }
  void release(const Id& id) {
    std::lock_guard lock(mutex_);
    const auto found = open_.find(id);
    if (--found->second.users > 0) return;
    mdb_env_close(found->second.environment);
    open_.erase(found);
  }

 private:
  struct Entry {
    MDB_env* environment = nullptr;
    std::size_t users = 0;
  };
  std::mutex mutex_;
  std::map<Id, Entry> open_;
};

MDB_env* open_lmdb(const std::string& path, unsigned flags, int& status) {
  MDB_env* environment = nullptr;
  status = mdb_env_create(&environment);
  if (status != MDB_SUCCESS) return nullptr;
  // A transaction is a dataset's, not a thread's.
  status = mdb_env_open(environment, path.c_str(), MDB_RDONLY | MDB_NOTLS | flags, 0644);
  if (status == MDB_SUCCESS) return environment;
  mdb_env_close(environment);
  return nullptr;
}

// The entries as one transaction sees them, found by walking over all keys once. Values are not touched. Thread-safe.
class LmdbEntries {
 public:
  explicit LmdbEntries(const LmdbSource& source) : file_(kLmdb, source.file) {
    check_lmdb_file(file_);
    struct stat about {};
    ::fstat(file_.descriptor(), &about);
    const bool sent = source.file.roots != nullptr;
    id_ = {about.st_dev, about.st_ino, sent};
    environment_ = LmdbEnvironments::instance().acquire(id_, [&] { return sent ? open_descriptor() : open_path(); });
    try {
      check_lmdb_call(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &transaction_), file_.path());
      find(source);
    } catch (...) {
      close();
      throw;
    }
  }
  ~LmdbEntries() { close(); }
  LmdbEntries(const LmdbEntries&) = delete;
  LmdbEntries& operator=(const LmdbEntries&) = delete;

  const LmdbEntry& operator[](std::uint64_t number) const { return entries_[static_cast<std::size_t>(number)]; }

 private:
  // The file that was opened beneath its roots, and no other. Nothing is written for somebody else, so without a lock.
  MDB_env* open_descriptor() const {
    int status = MDB_SUCCESS;
    MDB_env* environment =
        open_lmdb("/proc/self/fd/" + std::to_string(file_.descriptor()), MDB_NOSUBDIR | MDB_NOLOCK, status);
    check_lmdb_call(status, file_.path());
    return environment;
  }
  // With the lock file that those who write use, which is named after the folder or the file.
  MDB_env* open_path() const {
    const std::filesystem::path path(file_.path());
    const bool in_folder = path.filename() == kLmdbData;
    const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
    const std::string name = in_folder ? folder : file_.path();
    const unsigned flags = in_folder ? 0 : MDB_NOSUBDIR;
    int status = MDB_SUCCESS;
    MDB_env* environment = open_lmdb(name, flags, status);
    // Who may not write there cannot say that he reads; nor, as a rule, does anybody write to such data meanwhile.
    if (status == EACCES || status == EPERM || status == EROFS) {
      environment = open_lmdb(name, flags | MDB_NOLOCK, status);
    }
    check_lmdb_call(status, file_.path());
    return environment;
  }
  void find(const LmdbSource& source) {
    if (mdb_txn_id(transaction_) != source.transaction) {
      throw failed_precondition(
          kLmdb, "the environment that the dataset was made of is expected",
          {{"file", file_.path()}, {"transaction", mdb_txn_id(transaction_)}, {"transaction then", source.transaction}},
          "Make the dataset again after changing its files.");
    }
    const MDB_dbi database = LmdbEnvironments::instance().main_database(transaction_, file_.path());
    MDB_cursor* cursor = nullptr;
    check_lmdb_call(mdb_cursor_open(transaction_, database, &cursor), file_.path());
    const std::unique_ptr<MDB_cursor, void (*)(MDB_cursor*)> closed(cursor, mdb_cursor_close);
    MDB_val key, value;
    int status = MDB_SUCCESS;
    while ((status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == MDB_SUCCESS && entries_.size() < source.count) {
      add(key, value);
    }
    if (status == MDB_NOTFOUND && entries_.size() == source.count) return;
    if (status != MDB_NOTFOUND) check_lmdb_call(status, file_.path());
    wrong_lmdb(file_.path(), "as many entries as the environment says are expected", "there are more or fewer");
  }
  void add(const MDB_val& key, const MDB_val& value) {
    const LmdbEntry entry{static_cast<const char*>(key.mv_data), static_cast<const char*>(value.mv_data),
                          static_cast<std::uint32_t>(std::min<std::size_t>(value.mv_size, UINT32_MAX)),
                          static_cast<std::uint16_t>(std::min<std::size_t>(key.mv_size, UINT16_MAX))};
    // liblmdb does not say where the file is mapped. Nothing in it is farther from the first key than it is long.
    const char* first = entries_.empty() ? entry.key : entries_[0].key;
    const auto inside = [&](const char* begin, std::size_t bytes) {
      const auto at = reinterpret_cast<std::uintptr_t>(begin), from = reinterpret_cast<std::uintptr_t>(first);
      return bytes <= file_.size() && (at < from ? from - at : at - from + bytes) <= file_.size();
    };
    if (!inside(entry.key, key.mv_size) || !inside(entry.value, value.mv_size)) {
      wrong_lmdb(file_.path(), "entries inside the file are expected", "an entry reaches beyond its end");
    }
    entries_.push_back(entry);
  }
  void close() {
    if (transaction_) mdb_txn_abort(transaction_);
    if (environment_) LmdbEnvironments::instance().release(id_);
  }

  SourceFile file_;
  LmdbEnvironments::Id id_;
  MDB_env* environment_ = nullptr;
  MDB_txn* transaction_ = nullptr;
  std::vector<LmdbEntry> entries_;
};

#endif

// The entries, found when they are first asked for. Thread-safe.
class LmdbReader {
 public:
  explicit LmdbReader(LmdbSource source) : source_(std::move(source)) {}

  const LmdbSource& source() const { return source_; }
  const LmdbEntries& get() const {
    return *entries_.get([this] { return std::make_shared<const LmdbEntries>(source_); });
  }

 private:
  LmdbSource source_;
  ReadOnce<std::shared_ptr<const LmdbEntries>> entries_;
};

class LmdbElements : public IndexedElements {
 public:
  explicit LmdbElements(std::shared_ptr<const LmdbReader> reader) : reader_(std::move(reader)) {}

  std::uint64_t count() const override { return reader_->source().count; }
  bool blocks() const override { return true; }
  ElementKey key(ElementPlace place) const override { return {place.pass, place.position}; }
  void read(ElementPlace place, Tensors& element) const override {
    const LmdbEntry& entry = reader_->get()[place.position];
    if (entry.value_bytes > kMostRecordBytes) {
      throw Error(ErrorCode::ResourceExhausted, kLmdb, "a value of at most 1 GiB is expected",
                  {{"file", reader_->source().file.path},
                   {"element", place.position},
                   {"key", shown({entry.key, entry.key_bytes})}});
    }
    element.resize(2);
    for (Tensor& leaf : element) renew_leaf({DType::String, {}}, leaf);
    static_cast<std::string*>(element[0].raw())->assign(entry.key, entry.key_bytes);
    static_cast<std::string*>(element[1].raw())->assign(entry.value, entry.value_bytes);
  }

 private:
  std::shared_ptr<const LmdbReader> reader_;
};

class LmdbStage : public DatasetStage {
 public:
  explicit LmdbStage(LmdbSource source) : reader_(std::make_shared<const LmdbReader>(std::move(source))) {}
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return static_cast<std::int64_t>(reader_->source().count); }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<IndexedIterator>(indexed()); }
  bool is_indexed() const override { return true; }
  std::unique_ptr<IndexedElements> indexed() const override { return std::make_unique<LmdbElements>(reader_); }

 private:
  ElementSpec spec_ = ElementSpec::tuple({TensorSpec{DType::String, {}}, TensorSpec{DType::String, {}}});
  std::shared_ptr<const LmdbReader> reader_;
};

std::shared_ptr<const DatasetStage> make_lmdb(const std::vector<Dataset>& inputs, const Attributes& attributes) {
  check_no_inputs(kLmdb, inputs);
  check_lmdb_is_known();
  const std::vector<InputFile> files = input_files_of(kLmdb, attributes);
  const auto count = attributes.get<std::int64_t>("count"), transaction = attributes.get<std::int64_t>("transaction");
  if (files.size() != 1 || count < 0 || transaction < 0 || RemoteFile::is_address(files[0].path)) {
    throw invalid_argument(kLmdb, "one environment that is not behind an address is expected",
                           {{"files", files.size()}, {"count", count}, {"transaction", transaction}});
  }
  return std::make_shared<LmdbStage>(
      LmdbSource{files[0], static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(transaction)});
}

COHORT_DATASET("lmdb", make_lmdb);

}  // namespace

Dataset lmdb(const std::string& path) {
  check_lmdb_is_known();
  if (RemoteFile::is_address(path)) {
    throw invalid_argument(kLmdb, "a path is expected: LMDB maps its files", {{"path", path}}, "Copy it here first.");
  }
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  const std::string file = folder ? (std::filesystem::path(path) / kLmdbData).string() : path;
  const LmdbMeta meta = check_lmdb_file(SourceFile(kLmdb, file));
  Attributes attributes{{"count", static_cast<std::int64_t>(meta.count)},
                        {"transaction", static_cast<std::int64_t>(meta.transaction)}};
  add_input_files(find_input_files(kLmdb, {file}), attributes);
  return Dataset::make("lmdb", {}, std::move(attributes));
}

}  // namespace cohort::datasets
