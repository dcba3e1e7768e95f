#include "cohort/datasets/utilities/directory_index.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>
#include <span>
#include <string_view>

#include "cohort/core/error.h"
#include "cohort/core/random.h"
#include "cohort/datasets/sources/tensor_slices.h"
#include "cohort/datasets/transforms/zip.h"
#include "cohort/datasets/utilities/numpy_random.h"

namespace cohort::utils {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSeedsOfNumpy = std::int64_t{1} << 32;
constexpr std::uint64_t kDrawnSeeds = 1000000;  // Keras draws one below this

std::string as_list(const std::vector<std::string>& names) { return to_string(AttributeValue(names)); }

bool has_labels(const DirectoryQuery& query) {
  return query.label_mode && (query.labels.inferred || query.labels.given);
}

void check_query(const DirectoryQuery& query) {
  if (query.label_mode && *query.label_mode != "int" && *query.label_mode != "categorical" &&
      *query.label_mode != "binary") {
    throw invalid_argument(query.who,
                           "`label_mode` argument must be one of \"int\", \"categorical\", \"binary\" or none",
                           {{"label_mode", *query.label_mode}});
  }
  if (!query.class_names.empty() && !query.labels.inferred) {
    throw invalid_argument(query.who, "`class_names` can only be passed if `labels=\"inferred\"`",
                           {{"class_names", as_list(query.class_names)}});
  }
  if (!query.class_names.empty() && !query.label_mode) {
    throw invalid_argument(query.who, "Without labels, argument `class_names` cannot be specified",
                           {{"class_names", as_list(query.class_names)}});
  }
  const double split = query.validation_split;
  if (split != 0 && !(split > 0 && split < 1)) {
    throw invalid_argument(query.who, "`validation_split` must be between 0 and 1", {{"validation_split", split}});
  }
  if ((split != 0) != !query.subset.empty()) {
    throw invalid_argument(query.who, "If `subset` is set, `validation_split` must be set, and inversely",
                           {{"subset", query.subset}, {"validation_split", split}});
  }
  if (!query.subset.empty() && query.subset != "training" && query.subset != "validation" && query.subset != "both") {
    throw invalid_argument(query.who, "`subset` must be either \"training\", \"validation\" or \"both\"",
                           {{"subset", query.subset}});
  }
  if (split != 0 && query.shuffle && !query.seed) {
    throw invalid_argument(query.who,
                           "If using `validation_split` and shuffling the data, you must provide a `seed` argument, to "
                           "make sure that there is no overlap between the training and validation subset");
  }
  if (query.seed && (*query.seed < 0 || *query.seed >= kSeedsOfNumpy)) {
    throw invalid_argument(query.who, "a seed from 0 to 2^32 - 1 is expected", {{"seed", *query.seed}});
  }
}

std::string joined(const std::string& folder, const std::string& name) {
  return folder.empty() || folder.back() == '/' ? folder + name : folder + "/" + name;
}

bool ends_like(const std::string& name, const std::vector<std::string>& formats) {
  const auto same = [](char ending, char c) {
    return ending == (c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
  };
  return std::any_of(formats.begin(), formats.end(), [&](const std::string& ending) {
    return name.size() >= ending.size() && std::equal(ending.rbegin(), ending.rend(), name.rbegin(), same);
  });
}

// A folder and the names of the files right in it.
struct WalkedFolder {
  std::string root;
  std::vector<std::string> names;
};

// What cannot be opened is passed by, as os.walk does.
void walk(const std::string& folder, bool follow_links, std::vector<WalkedFolder>& found) {
  std::vector<std::string> below;
  WalkedFolder& here = found.emplace_back(WalkedFolder{folder, {}});
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem)) {
    std::error_code unknown;
    const std::string name = entry->path().filename().string();
    if (!entry->is_directory(unknown)) {
      here.names.push_back(name);
    } else if (follow_links || !entry->is_symlink(unknown)) {
      below.push_back(name);
    }
  }
  std::sort(here.names.begin(), here.names.end());
  for (const std::string& name : below) walk(joined(folder, name), follow_links, found);
}

// Paths of the files at and below a folder, folder by folder in the order of their bytes.
std::vector<std::string> files_below(const std::string& folder, const DirectoryQuery& query) {
  std::vector<WalkedFolder> folders;
  walk(folder, query.follow_links, folders);
  std::sort(folders.begin(), folders.end(), [](const auto& a, const auto& b) { return a.root < b.root; });
  std::vector<std::string> paths;
  for (const WalkedFolder& each : folders) {
    for (const std::string& name : each.names) {
      if (ends_like(name, query.formats)) paths.push_back(joined(each.root, name));
    }
  }
  return paths;
}

std::vector<std::string> class_folders(const DirectoryQuery& query) {
  std::error_code problem;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(query.directory, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    std::error_code unknown;
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(".") && entry->is_directory(unknown)) names.push_back(name);
  }
  if (problem) {
    throw not_found(query.who, "a folder that can be read is expected",
                    {{"directory", query.directory}, {"problem", problem.message()}});
  }
  std::sort(names.begin(), names.end());
  if (query.class_names.empty()) return names;
  const std::set<std::string> known(names.begin(), names.end());
  for (const std::string& name : query.class_names) {
    if (known.count(name) == 0) {
      throw invalid_argument(query.who,
                             "The `class_names` passed did not match the names of the subdirectories of the target "
                             "directory, " +
                                 as_list(names) + " (or a subset of it)",
                             {{"class_names", as_list(query.class_names)}});
    }
  }
  return query.class_names;
}

void find_files(const DirectoryQuery& query, DirectoryIndex& index) {
  LabeledFiles& files = index.files;
  if (has_labels(query) && query.labels.inferred) {
    index.class_names = class_folders(query);
    for (std::size_t label = 0; label < index.class_names.size(); ++label) {
      const auto paths = files_below(joined(query.directory, index.class_names[label]), query);
      files.paths.insert(files.paths.end(), paths.begin(), paths.end());
      files.labels.insert(files.labels.end(), paths.size(), static_cast<std::int32_t>(label));
    }
    return;
  }
  files.paths = files_below(query.directory, query);
  if (!has_labels(query)) return;
  files.labels = *query.labels.given;
  if (files.labels.size() != files.paths.size()) {
    throw invalid_argument(
        query.who, "Expected the lengths of `labels` to match the number of files in the target directory",
        {{"labels.size", files.labels.size()}, {"files", files.paths.size()}, {"directory", query.directory}});
  }
  const std::set<std::int32_t> classes(files.labels.begin(), files.labels.end());
  for (const std::int32_t label : classes) index.class_names.push_back(std::to_string(label));
}

void print_found(const DirectoryQuery& query, const DirectoryIndex& index) {
  if (!query.verbose) return;
  std::cout << "Found " << index.files.paths.size() << " files";
  if (has_labels(query)) std::cout << " belonging to " << index.class_names.size() << " classes";
  std::cout << "." << std::endl;
}

template <class T>
void mix(std::vector<T>& values, std::int64_t seed) {
  NumpyRandomState random(static_cast<std::uint32_t>(seed));
  random.shuffle(std::span<T>(values));
}

LabeledFiles part_of(const LabeledFiles& files, std::size_t first, std::size_t last) {
  const auto cut = [&](const auto& values) {
    const auto at = [&](std::size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
    return values.empty() ? values : std::decay_t<decltype(values)>(at(first), at(last));
  };
  return {cut(files.paths), cut(files.labels)};
}

void split(const DirectoryQuery& query, DirectoryIndex& index) {
  if (query.validation_split == 0) return;
  const std::size_t all = index.files.paths.size();
  const auto kept = static_cast<std::size_t>(query.validation_split * static_cast<double>(all));
  LabeledFiles training = part_of(index.files, 0, all - kept);
  LabeledFiles validation = part_of(index.files, all - kept, all);
  // Keras says this however quiet it is asked to be.
  if (query.subset != "validation") std::cout << "Using " << all - kept << " files for training." << std::endl;
  if (query.subset != "training") std::cout << "Using " << kept << " files for validation." << std::endl;
  // Keras's training part is empty, too, where nothing is kept.
  if (kept == 0) training = {};
  index.files = query.subset == "validation" ? std::move(validation) : std::move(training);
  if (query.subset == "both") index.validation = std::move(validation);
}

void check_found(const DirectoryQuery& query, const LabeledFiles& files, const std::string& which) {
  if (!files.paths.empty()) return;
  throw invalid_argument(query.who, "No " + which + query.content + " files found in directory " + query.directory,
                         {{"formats", as_list(query.formats)}});
}

}  // namespace

DirectoryLabels::DirectoryLabels(const char* inferred) : inferred(true) {
  if (std::string_view(inferred) == "inferred") return;
  throw invalid_argument("utils.DirectoryLabels",
                         "The `labels` argument should be \"inferred\", none, or a list of integer labels, one for "
                         "each file of the directory",
                         {{"labels", inferred}});
}

DirectoryIndex index_directory(const DirectoryQuery& query) {
  check_query(query);
  DirectoryIndex index;
  index.seed = query.seed.value_or(0);
  if (query.shuffle && !query.seed) index.seed = static_cast<std::int64_t>(next_op_seed() % kDrawnSeeds);
  find_files(query, index);
  print_found(query, index);
  if (query.shuffle) {
    mix(index.files.paths, index.seed);
    mix(index.files.labels, index.seed);
  }
  if (has_labels(query) && *query.label_mode == "binary" && index.class_names.size() != 2) {
    throw invalid_argument(query.who, "When passing `label_mode=\"binary\"`, there must be exactly 2 class_names",
                           {{"class_names", as_list(index.class_names)}});
  }
  split(query, index);
  const bool both = query.subset == "both";
  check_found(query, index.files, both ? "training " : "");
  if (both) check_found(query, index.validation, "validation ");
  return index;
}

Dataset with_labels(const Dataset& elements, const LabeledFiles& files, const DirectoryQuery& query,
                    std::size_t num_classes) {
  if (!has_labels(query)) return elements;
  const auto count = static_cast<std::int64_t>(files.labels.size());
  Tensor labels = Tensor::of(files.labels, {count}, cpu());
  if (*query.label_mode == "binary") {
    labels = Tensor::of(std::vector<float>(files.labels.begin(), files.labels.end()), {count, 1}, cpu());
  } else if (*query.label_mode == "categorical") {
    std::vector<float> rows(files.labels.size() * num_classes);
    for (std::size_t i = 0; i < files.labels.size(); ++i) {
      const auto label = static_cast<std::size_t>(files.labels[i]);
      if (files.labels[i] >= 0 && label < num_classes) rows[i * num_classes + label] = 1;
    }
    labels = Tensor::of(rows, {count, static_cast<std::int64_t>(num_classes)}, cpu());
  }
  return datasets::zip({elements, datasets::from_tensor_slices(labels)});
}

DirectoryDataset dataset_of_directory(const DirectoryQuery& query, std::int64_t batch_size,
                                      const std::function<Dataset(const std::vector<std::string>& paths)>& read,
                                      const DatasetTransform& batch) {
  if (batch_size < 0)
    throw invalid_argument(query.who, "`batch_size` must be 0 or greater", {{"batch_size", batch_size}});
  const DirectoryIndex index = index_directory(query);
  const auto make = [&](const LabeledFiles& files, bool shuffle) {
    constexpr std::int64_t kBatchesHeld = 8, kHeldWithoutBatches = 1024;
    Dataset dataset = with_labels(read(files.paths), files, query, index.class_names.size());
    if (shuffle) {
      dataset = dataset.shuffle(batch_size > 0 ? batch_size * kBatchesHeld : kHeldWithoutBatches, {.seed = index.seed});
    }
    return (batch_size > 0 ? batch(dataset) : dataset).prefetch(kAutotune);
  };
  DirectoryDataset result{make(index.files, query.shuffle), {}, index.class_names};
  if (query.subset == "both") result.validation = make(index.validation, false);
  return result;
}

}  // namespace cohort::utils
