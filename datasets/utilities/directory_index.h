#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::utils {

// Where the labels of a folder's files come from.
struct DirectoryLabels {
  // "inferred": each subfolder is a class.
  DirectoryLabels(const char* inferred = "inferred");
  // No labels.
  DirectoryLabels(std::nullopt_t) {}
  // A label for each file, in the order of their paths.
  DirectoryLabels(std::vector<std::int32_t> labels) : given(std::move(labels)) {}
  // Whether the subfolders tell.
  bool inferred = false;
  // A label for each file; none where subfolders tell, or nobody.
  std::optional<std::vector<std::int32_t>> given = std::nullopt;
};

// What the functions *_dataset_from_directory give: auto [train, validation, class_names] = ...; or, as a Dataset, the
// first alone.
struct DirectoryDataset {
  // The data of the subset asked for; with subset = "both" the training data.
  Dataset dataset = {};
  // With subset = "both" the validation data; else undefined.
  Dataset validation = {};
  // Names of the classes, by label; none without labels.
  std::vector<std::string> class_names = {};
  operator const Dataset&() const { return dataset; }
};

// What to look for in a folder: the arguments that all functions *_dataset_from_directory share.
struct DirectoryQuery {
  // Names the function in errors.
  const char* who;
  // What the files hold, for messages: "text".
  const char* content;
  // How the names of files end, in small letters: ".txt".
  std::vector<std::string> formats;
  // The folder.
  std::string directory;
  // Where labels come from.
  DirectoryLabels labels;
  // "int", "categorical" or "binary"; none: no labels.
  std::optional<std::string> label_mode;
  // The subfolders to read, in the order of their labels; none: all, sorted.
  std::vector<std::string> class_names;
  // Mix the files once, as NumPy does.
  bool shuffle;
  // Seed of that; none: a random one.
  std::optional<std::int64_t> seed;
  // Part of the files to keep for validation; 0: there is no such part.
  double validation_split;
  // "training", "validation" or "both"; "" without a split.
  std::string subset;
  // Walk into subfolders that are links.
  bool follow_links;
  // Print what was found.
  bool verbose;
};
// The query that the options of one of these functions make.
//   content: what its files hold, for errors.
//   formats: how their names end.
template <class Options>
DirectoryQuery query_of(const char* who, const char* content, std::vector<std::string> formats,
                        const std::string& directory, const Options& options) {
  return {.who = who,
          .content = content,
          .formats = std::move(formats),
          .directory = directory,
          .labels = options.labels,
          .label_mode = options.label_mode,
          .class_names = options.class_names,
          .shuffle = options.shuffle,
          .seed = options.seed,
          .validation_split = options.validation_split,
          .subset = options.subset,
          .follow_links = options.follow_links,
          .verbose = options.verbose};
}
// Files with their labels.
struct LabeledFiles {
  // Their paths.
  std::vector<std::string> paths = {};
  // A label for each; none without labels.
  std::vector<std::int32_t> labels = {};
};
// What was found in a folder.
struct DirectoryIndex {
  // The files of the subset asked for; with subset = "both" those for training.
  LabeledFiles files = {};
  // With subset = "both" those for validation.
  LabeledFiles validation = {};
  // Names of the classes, by label; none without labels.
  std::vector<std::string> class_names = {};
  // The seed given, or the one drawn.
  std::int64_t seed = 0;
};
// Lists the files of a folder with their labels, shuffled and split as Keras does with the same seed. Throws where
// Keras does, and where a part of a split would be empty.
DirectoryIndex index_directory(const DirectoryQuery& query);

// Adds the labels to elements, one for each file, as label_mode says: int32 scalars, float32 of shape (1), or float32
// of shape (classes) that are 1 at the label; without labels the elements alone.
//   elements: of the files, in their order.
Dataset with_labels(const Dataset& elements, const LabeledFiles& files, const DirectoryQuery& query,
                    std::size_t num_classes);

// The dataset of a folder, as all functions *_dataset_from_directory make it: the files' elements with their labels,
// shuffled in every epoch (those for validation are not), in batches, computed ahead.
//   batch_size: elements of a batch; 0: no batches.
//   read: makes elements of files.
//   batch: makes batches of elements with their labels.
DirectoryDataset dataset_of_directory(const DirectoryQuery& query, std::int64_t batch_size,
                                      const std::function<Dataset(const std::vector<std::string>& paths)>& read,
                                      const DatasetTransform& batch);

}  // namespace cohort::utils
