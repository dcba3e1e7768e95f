#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/data/dataset.h"
#include "cohort/datasets/utilities/directory_index.h"

namespace cohort::utils {

// What audio_dataset_from_directory takes besides the folder.
struct AudioDirectoryOptions {
  // "inferred": each subfolder is a class; std::nullopt: no labels; or a label for each file, in the order of their
  // paths.
  DirectoryLabels labels = "inferred";
  // "int": int32 numbers; "categorical": rows with a 1 at the label; "binary": float32 0 or 1; std::nullopt: no labels.
  std::optional<std::string> label_mode = "int";
  // The subfolders to read, in the order of their labels; none: all, sorted by their bytes.
  std::vector<std::string> class_names = {};
  // Elements of a batch; 0: no batches.
  std::int64_t batch_size = 32;
  // Samples of a second that every file must have; none: any. Files are not resampled.
  std::optional<std::int64_t> sampling_rate = std::nullopt;
  // Samples of every element: longer files are cut, shorter ones filled up with zeros; none: the longest of a batch
  // decides.
  std::optional<std::int64_t> output_sequence_length = std::nullopt;
  // Elements keep their own lengths, which needs batch_size = 0: there are no ragged tensors here.
  bool ragged = false;
  // Mix the files once, and their elements in every epoch; otherwise they come in the order of their paths.
  bool shuffle = true;
  // Seed of that, from 0 to 2^32 - 1: the same one gives Keras's split; none: a random one.
  std::optional<std::int64_t> seed = std::nullopt;
  // Part of the files kept for validation, between 0 and 1; 0: there is no such part.
  double validation_split = 0;
  // With validation_split: "training", "validation" or "both".
  std::string subset = "";
  // Walk into subfolders that are links.
  bool follow_links = false;
  // Print how many files and classes were found.
  bool verbose = true;
};

// The .wav files of a folder, each float32 of shape (samples, channels), with labels: pairs (audio, label), or audio
// alone.
//   directory: has a subfolder for each class where labels are inferred.
DirectoryDataset audio_dataset_from_directory(const std::string& directory, const AudioDirectoryOptions& options = {});

}  // namespace cohort::utils
