#include "cohort/saving/checkpoint/checkpoint_files.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>

#include "cohort/core/error.h"
#include "cohort/files/atomic_file.h"
#include "cohort/files/crc32c.h"
#include "cohort/saving/checkpoint_state.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexEnding = ".index";
constexpr std::string_view kDataMark = ".data-";
constexpr std::size_t kIdDigits = 16;

std::string new_checkpoint_id() {
  std::random_device random;
  char text[kIdDigits + 1];
  std::snprintf(text, sizeof text, "%08x%08x", random(), random());
  return text;
}

std::string index_file(const std::string& path) { return path + std::string(kIndexEnding); }
std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }
std::string beside(const std::string& path, const std::string& name) {
  return (fs::path(path).parent_path() / name).string();
}
std::string folder_of_checkpoint(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// "<checkpoint>.data-<id>-00000-of-00001" in its parts; empty when a file is called otherwise.
struct DataFileName {
  explicit DataFileName(const std::string& name) {
    const std::size_t mark = name.rfind(kDataMark);
    if (mark == std::string::npos || name.size() < mark + kDataMark.size() + kIdDigits + 1) return;
    if (name[mark + kDataMark.size() + kIdDigits] != '-') return;
    checkpoint = name.substr(0, mark);
    id = name.substr(mark + kDataMark.size(), kIdDigits);
  }
  std::string checkpoint, id;
};

// The name an AtomicFile was to get; any other file's own.
std::string without_temporary_ending(const std::string& name) {
  constexpr std::string_view kMark = ".tmp.";
  const std::size_t mark = name.rfind(kMark);
  if (mark == std::string::npos) return name;
  const std::string numbers = name.substr(mark + kMark.size());
  const bool fits = numbers.find_first_not_of("0123456789.") == std::string::npos &&
                    std::count(numbers.begin(), numbers.end(), '.') == 1;
  return fits ? name.substr(0, mark) : name;
}

template <class Wanted>
void remove_files(const std::string& folder, const Wanted& wanted) {
  std::error_code problem;
  std::vector<fs::path> removed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem)) {
    if (wanted(entry.path().filename().string())) removed.push_back(entry.path());
  }
  for (const fs::path& each : removed) fs::remove(each, problem);
}

// Data files of the checkpoint that are of another writing than `id`.
void remove_other_data(const std::string& path, const std::string& id) {
  const std::string checkpoint = file_name(path);
  remove_files(folder_of_checkpoint(path), [&](const std::string& name) {
    const DataFileName data(name);
    return !data.id.empty() && data.checkpoint == checkpoint && data.id != id;
  });
}

// Data files that exist already, until the index is there.
class UncommittedFiles {
 public:
  ~UncommittedFiles() {
    std::error_code ignored;
    for (const std::string& each : files_) fs::remove(each, ignored);
  }
  void add(std::string file) { files_.push_back(std::move(file)); }
  void keep() { files_.clear(); }

 private:
  std::vector<std::string> files_;
};

void write_data_files(CheckpointSnapshot& snapshot, const std::string& path, UncommittedFiles& uncommitted) {
  static constexpr char kPadding[64] = {};
  std::unique_ptr<AtomicFile> file;
  std::uint64_t number = 0;
  const auto commit = [&] {
    if (!file) return;
    file->commit();
    uncommitted.add(beside(path, snapshot.index.files[number].name));
  };
  std::size_t next = 0;
  for (CheckpointEntry& entry : snapshot.index.entries) {
    for (CheckpointPart& part : entry.parts) {
      if (!file || part.file != number) {
        commit();
        number = part.file;
        file = std::make_unique<AtomicFile>(beside(path, snapshot.index.files[number].name));
      }
      for (std::uint64_t gap = part.offset - file->size(); gap > 0; gap = part.offset - file->size()) {
        file->append({kPadding, std::min<std::size_t>(gap, sizeof kPadding)});
      }
      // The sum is taken just before the bytes are handed over, while they come into the cache anyway.
      constexpr std::uint64_t kRun = std::uint64_t{4} << 20;
      const char* source = snapshot.sources[next++];
      for (std::uint64_t done = 0; done < part.bytes; done += kRun) {
        const std::size_t count = std::min(kRun, part.bytes - done);
        part.checksum = crc32c_extend(part.checksum, source + done, count);
        file->append({source + done, count});
      }
    }
  }
  commit();
}

// One data file, read where parts say.
class DataFileReader {
 public:
  DataFileReader(const std::string& path, const CheckpointDataFile& file)
      : name_(beside(path, file.name)), in_(name_, std::ios::binary) {
    std::error_code problem;
    const std::uintmax_t size = fs::file_size(name_, problem);
    if (problem || !in_) throw damaged_checkpoint(name_, "it is missing or cannot be read");
    if (size != file.bytes) {
      throw damaged_checkpoint(name_, "it has " + std::to_string(size) + " bytes, not " + std::to_string(file.bytes));
    }
  }
  void read(const CheckpointPart& part, char* target, const std::string& tensor) {
    in_.seekg(static_cast<std::streamoff>(part.offset));
    in_.read(target, static_cast<std::streamsize>(part.bytes));
    if (!in_) throw damaged_checkpoint(name_, "it cannot be read to its end");
    if (crc32c({target, part.bytes}) != part.checksum) {
      throw damaged_checkpoint(name_, "the checksum of '" + tensor + "' does not fit");
    }
  }

 private:
  std::string name_;
  std::ifstream in_;
};

}  // namespace

void write_checkpoint_files(CheckpointSnapshot& snapshot, const std::string& path) {
  CheckpointIndex& index = snapshot.index;
  index.id = new_checkpoint_id();
  for (std::size_t i = 0; i < index.files.size(); ++i) {
    char numbers[48];
    std::snprintf(numbers, sizeof numbers, "-%05zu-of-%05zu", i, index.files.size());
    index.files[i].name = file_name(path) + std::string(kDataMark) + index.id + numbers;
  }
  UncommittedFiles uncommitted;
  write_data_files(snapshot, path, uncommitted);
  write_file_atomically(index_file(path), format_checkpoint_index(index));
  uncommitted.keep();
  remove_other_data(path, index.id);
}

CheckpointIndex read_checkpoint_index(const std::string& path) {
  return parse_checkpoint_index(read_file(index_file(path)), index_file(path));
}

Tensors read_checkpoint_values(const CheckpointIndex& index, const std::string& path) {
  std::vector<DataFileReader> files;
  files.reserve(index.files.size());
  for (const CheckpointDataFile& file : index.files) files.emplace_back(path, file);
  Tensors values;
  for (const CheckpointEntry& entry : index.entries) {
    // The files are as long as the index says, so no more memory is asked for than they have bytes.
    Tensor value = Tensor::empty(entry.dtype, entry.shape, cpu());
    auto* target = static_cast<char*>(value.raw());
    for (const CheckpointPart& part : entry.parts) {
      files[part.file].read(part, target, entry.name);
      target += part.bytes;
    }
    values.push_back(std::move(value));
  }
  return values;
}

void remove_checkpoint_files(const std::string& path) {
  std::error_code problem;
  fs::remove(index_file(path), problem);
  if (problem) {
    throw Error(ErrorCode::ResourceExhausted, "Checkpoint", "an old checkpoint must be removed",
                {{"path", path}, {"error", problem.message()}}, "See that the folder is writable.");
  }
  remove_other_data(path, "");
}

void remove_unfinished_checkpoints(const std::string& folder, const std::string& name) {
  const auto has_index = [&](const DataFileName& data) {
    try {
      return read_checkpoint_index((fs::path(folder) / data.checkpoint).string()).id == data.id;
    } catch (const Error& error) {
      return error.code() != ErrorCode::NotFound;  // a damaged one may yet be looked into
    }
  };
  const auto is_one_of_these = [&](const std::string& checkpoint) {
    const std::int64_t number = checkpoint_number(checkpoint);
    return number >= 0 && checkpoint == name + "-" + std::to_string(number);
  };
  remove_files(folder, [&](const std::string& file) {
    const std::string final_name = without_temporary_ending(file);
    const DataFileName data(final_name);
    if (final_name != file) {
      return final_name == "checkpoint" || is_one_of_these(data.checkpoint) ||
             (final_name.ends_with(kIndexEnding) &&
              is_one_of_these(final_name.substr(0, final_name.size() - kIndexEnding.size())));
    }
    return is_one_of_these(data.checkpoint) && !has_index(data);
  });
}

}  // namespace cohort
