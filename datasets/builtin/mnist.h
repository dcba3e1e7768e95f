#pragma once

#include <string>
#include <utility>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// (train, test): 60,000 and 10,000 pairs of a uint8 image (28, 28) of a digit and its uint8 label in [0, 10).
// auto [train, test] = datasets::mnist("/data/mnist");
//   folder: where mnist.npz is, as Keras fetches it, or the four idx files, gzipped or not.
std::pair<Dataset, Dataset> mnist(const std::string& folder);

}  // namespace cohort::datasets
