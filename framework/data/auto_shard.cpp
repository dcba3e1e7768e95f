#include "cohort/data/auto_shard.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/log.h"

namespace cohort {
namespace {

constexpr const char* kShardFor = "shard_for";
constexpr const char* kFiles = "files";
constexpr const char* kFileBytes = "file_bytes";
constexpr const char* kFileNumbers = "file_numbers";

template <std::size_t n>
bool is_one_of(const Dataset& dataset, const std::array<std::string_view, n>& kinds) {
  return std::find(kinds.begin(), kinds.end(), dataset.kind()) != kinds.end();
}

// Read their files one after the other, and have nothing else that belongs to single files but by their numbers.
bool reads_files(const Dataset& dataset) {
  constexpr std::array<std::string_view, 6> kReaders{"tf_records", "text_lines", "fixed_length_records",
                                                     "csv",        "json_lines", "web_dataset"};
  return is_one_of(dataset, kReaders) && dataset.attributes().has(kFiles);
}
// Make a dataset of each element, which then is the name of a file.
bool opens_inputs(const Dataset& dataset) {
  constexpr std::array<std::string_view, 2> kOpeners{"interleave", "flat_map"};
  return is_one_of(dataset, kOpeners);
}
// What their elements are depends on how many came before, of all files or of another dataset.
bool counts_elements(const Dataset& dataset) {
  constexpr std::array<std::string_view, 9> kCounting{
      "take", "skip", "shard", "enumerate", "take_while", "scan", "zip", "assert_cardinality", "sample_from_datasets"};
  return is_one_of(dataset, kCounting);
}
// Stay behind the division: what they do is for one worker's elements.
bool is_last_touch(const Dataset& dataset) {
  constexpr std::array<std::string_view, 2> kLast{"prefetch", "options"};
  return is_one_of(dataset, kLast);
}

bool is_list_of_names(const Dataset& dataset) {
  if (dataset.kind() != "tensor_slices") return false;
  const Specs leaves = dataset.element_spec().flatten();
  return leaves.size() == 1 && leaves[0].dtype == DType::String && leaves[0].shape.rank() == 0;
}

// What stands in the way of dividing by files, and how many there are to divide.
struct FileCount {
  std::int64_t fewest = -1;  // of the sources; -1: there is none yet
  std::string other_source;  // the kind of a source that reads no files
  std::string counting;      // the kind of a stage that counts elements
  void add(std::int64_t files) { fewest = fewest < 0 ? files : std::min(fewest, files); }
};

void count_files(const Dataset& dataset, bool names, FileCount& count) {
  if (reads_files(dataset)) {
    count.add(static_cast<std::int64_t>(dataset.attributes().get<std::vector<std::string>>(kFiles).size()));
    return;
  }
  if (names && is_list_of_names(dataset)) {
    count.add(dataset.cardinality());
    return;
  }
  if (dataset.inputs().empty()) count.other_source = dataset.kind();
  // A list of names that is cut short is another list.
  if (counts_elements(dataset)) count.counting = dataset.kind();
  for (const Dataset& input : dataset.inputs()) count_files(input, names || opens_inputs(dataset), count);
}

FileCount count_files(const Dataset& dataset) {
  FileCount count;
  count_files(dataset, false, count);
  return count;
}

class FileDivision {
 public:
  FileDivision(std::int64_t num_workers, std::int64_t index) : num_workers_(num_workers), index_(index) {}

  // The chain with a part of the files; a stage that feeds two others still does.
  Dataset part_of(const Dataset& dataset, bool names = false) {
    const auto key = std::pair(&dataset.stage(), names);
    if (const auto known = parts_.find(key); known != parts_.end()) return known->second;
    return parts_[key] = make_part(dataset, names);
  }

 private:
  Dataset make_part(const Dataset& dataset, bool names) {
    if (reads_files(dataset)) return with_files_of_part(dataset);
    if (names && is_list_of_names(dataset)) return dataset.shard(num_workers_, index_);
    std::vector<Dataset> inputs;
    for (const Dataset& input : dataset.inputs()) inputs.push_back(part_of(input, names || opens_inputs(dataset)));
    return Dataset::make(dataset.kind(), std::move(inputs), dataset.attributes());
  }
  Dataset with_files_of_part(const Dataset& source) const {
    Attributes attributes = source.attributes();
    const auto files = attributes.get<std::vector<std::string>>(kFiles);
    // Records are known by them, so that they draw what they draw on one machine.
    std::vector<std::int64_t> numbers(files.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    if (attributes.has(kFileNumbers)) numbers = attributes.get<std::vector<std::int64_t>>(kFileNumbers);
    attributes.set(kFiles, part_of(files));
    attributes.set(kFileNumbers, part_of(numbers));
    attributes.set(kFileBytes, part_of(attributes.get<std::vector<std::int64_t>>(kFileBytes)));
    return Dataset::make(source.kind(), {}, std::move(attributes));
  }
  template <class T>
  std::vector<T> part_of(const std::vector<T>& all) const {
    std::vector<T> part;
    for (auto i = static_cast<std::size_t>(index_); i < all.size(); i += static_cast<std::size_t>(num_workers_)) {
      part.push_back(all[i]);
    }
    return part;
  }

  std::int64_t num_workers_, index_;
  std::map<std::pair<const DatasetStage*, bool>, Dataset> parts_;
};

void check_files(const FileCount& count, std::int64_t num_workers) {
  constexpr const char* kUseData = "Use the policy DATA, which divides elements.";
  if (count.fewest < 0 || !count.other_source.empty()) {
    throw invalid_argument(kShardFor, "the policy FILE needs sources that read files",
                           {{"source", count.other_source.empty() ? "none" : count.other_source}}, kUseData);
  }
  if (count.fewest < num_workers) {
    throw invalid_argument(kShardFor, "the policy FILE needs at least one file for each worker",
                           {{"files", count.fewest}, {"num_workers", num_workers}}, kUseData);
  }
  if (count.counting == "assert_cardinality") {
    throw invalid_argument(kShardFor, "the policy FILE cannot tell how many elements each worker has",
                           {{"stage", count.counting}}, kUseData);
  }
}

Dataset elements_of_worker(const Dataset& dataset, std::int64_t num_workers, std::int64_t index) {
  if (!is_last_touch(dataset)) return dataset.shard(num_workers, index);
  return Dataset::make(dataset.kind(), {elements_of_worker(dataset.inputs().front(), num_workers, index)},
                       dataset.attributes());
}

// Stages that feed two others are made once.
class InOrder {
 public:
  Dataset of(const Dataset& dataset) {
    const DatasetStage* stage = &dataset.stage();
    if (const auto known = made_.find(stage); known != made_.end()) return known->second;
    std::vector<Dataset> inputs;
    for (const Dataset& input : dataset.inputs()) inputs.push_back(of(input));
    Attributes attributes = dataset.attributes();
    if (attributes.has(kDeterministic)) attributes.set(kDeterministic, true);
    return made_[stage] = Dataset::make(dataset.kind(), std::move(inputs), std::move(attributes));
  }
  // Whether there is anything to change.
  static bool is_needed(const Dataset& dataset) {
    const Attributes& attributes = dataset.attributes();
    if (attributes.has(kDeterministic) && !attributes.get<bool>(kDeterministic)) return true;
    return std::any_of(dataset.inputs().begin(), dataset.inputs().end(), is_needed);
  }

 private:
  static constexpr const char* kDeterministic = "deterministic";
  std::map<const DatasetStage*, Dataset> made_;
};

std::string why_data(const FileCount& count, std::int64_t num_workers) {
  if (count.fewest < 0 || !count.other_source.empty()) return "not all of its sources read files";
  if (count.fewest < num_workers) {
    return "it has " + std::to_string(count.fewest) + " files for " + std::to_string(num_workers) + " workers";
  }
  return "its stage '" + count.counting + "' counts elements";
}

bool is_new_sentence(const std::string& sentence) {
  static std::mutex mutex;
  static std::set<std::string>* said = new std::set<std::string>;  // never destroyed
  std::lock_guard lock(mutex);
  return said->insert(sentence).second;
}

}  // namespace

std::optional<AutoShardPolicy> auto_shard_policy_of(const Dataset& dataset) {
  constexpr const char* kPolicy = "auto_shard_policy";
  if (dataset.kind() == "options" && dataset.attributes().has(kPolicy)) {
    return static_cast<AutoShardPolicy>(dataset.attributes().get<std::int64_t>(kPolicy));
  }
  for (const Dataset& input : dataset.inputs()) {
    if (const auto policy = auto_shard_policy_of(input)) return policy;
  }
  return std::nullopt;
}

void say_auto_shard(const Dataset& dataset, AutoShardPolicy became, std::int64_t num_workers) {
  const FileCount count = count_files(dataset);
  if (count.fewest < 0 || num_workers < 2) return;  // there is nothing to choose
  const std::string workers = std::to_string(num_workers) + " workers";
  const std::string sentence = became == AutoShardPolicy::File
                                   ? "Auto-shard: the dataset's " + std::to_string(count.fewest) +
                                         " files are divided among " + workers + " (policy FILE)."
                                   : "Auto-shard: the dataset's elements are divided among " + workers +
                                         " (policy DATA): " + why_data(count, num_workers) + ".";
  if (is_new_sentence(sentence)) log::info(sentence);
}

AutoShardPolicy resolve_auto_shard(const Dataset& dataset, AutoShardPolicy policy, std::int64_t num_workers) {
  if (policy != AutoShardPolicy::Auto) return policy;
  const FileCount count = count_files(dataset);
  const bool by_files = count.fewest >= num_workers && count.other_source.empty() && count.counting.empty();
  return by_files ? AutoShardPolicy::File : AutoShardPolicy::Data;
}

Dataset in_order(const Dataset& dataset) { return InOrder::is_needed(dataset) ? InOrder().of(dataset) : dataset; }

Dataset shard_for(const Dataset& dataset, AutoShardPolicy policy, std::int64_t num_workers, std::int64_t index) {
  if (num_workers < 1 || index < 0 || index >= num_workers) {
    throw invalid_argument(kShardFor, "at least one worker and an index in [0, num_workers) are expected",
                           {{"num_workers", num_workers}, {"index", index}});
  }
  dataset.stage();
  if (num_workers == 1) return dataset;
  const AutoShardPolicy resolved = resolve_auto_shard(dataset, policy, num_workers);
  if (policy == AutoShardPolicy::Auto && index == 0) say_auto_shard(dataset, resolved, num_workers);
  switch (resolved) {
    case AutoShardPolicy::Off:
      return dataset;
    case AutoShardPolicy::File:
      check_files(count_files(dataset), num_workers);
      return FileDivision(num_workers, index).part_of(dataset);
    case AutoShardPolicy::Data:
      return elements_of_worker(in_order(dataset), num_workers, index);
    case AutoShardPolicy::Auto:
      break;
  }
  throw invalid_argument(kShardFor, "a policy is expected", {{"policy", static_cast<std::int64_t>(policy)}});
}

}  // namespace cohort
