#pragma once

#include <string>
#include <utility>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// (train, test): 50,000 and 10,000 pairs of a uint8 image (32, 32, 3) and its uint8 label (1,) in [0, 10).
// auto [train, test] = datasets::cifar10("/data/cifar10");
//   folder: where the files of the "binary version" are (data_batch_1.bin, ..., test_batch.bin), or the folder
//     cifar-10-batches-bin with them.
std::pair<Dataset, Dataset> cifar10(const std::string& folder);

// What cifar100 takes besides the folder.
struct Cifar100Options {
  // "fine": 100 classes; "coarse": 20.
  std::string label_mode = "fine";
};
// (train, test): 50,000 and 10,000 pairs of a uint8 image (32, 32, 3) and its uint8 label (1,).
//   folder: where the files of the "binary version" are (train.bin, test.bin), or the folder cifar-100-binary with
//     them.
std::pair<Dataset, Dataset> cifar100(const std::string& folder, const Cifar100Options& options = {});

}  // namespace cohort::datasets
