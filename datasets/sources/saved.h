#pragma once

#include <string>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// What save takes besides the dataset and the folder.
struct SaveOptions {
  // Files that the elements are dealt out to in turn, at least 1.
  std::int64_t num_shards = 1;
};

// Dataset::save: walks the dataset once and writes its elements into a folder, which load() reads. The folder holds the
// old ones or the new ones, whole; an element that fails ends it, and nothing is left.
//   dataset: one that ends.
//   folder: its path; another folder than one that save() wrote is not replaced.
void save(const Dataset& dataset, const std::string& folder, const SaveOptions& options = {});

// The elements that save() wrote, in their order, mapped; reached by number. The files must stay as they are.
//   folder: its path.
Dataset load(const std::string& folder);

}  // namespace cohort::datasets
