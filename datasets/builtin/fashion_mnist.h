#pragma once

#include <string>
#include <utility>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// What fashion_mnist takes.
struct FashionMnistOptions {
  // Where the four idx files are; empty: where Debian's package dataset-fashion-mnist puts them.
  std::string folder = {};
};

// (train, test): 60,000 and 10,000 pairs of a uint8 image (28, 28) and its uint8 label in [0, 10).
// auto [train, test] = datasets::fashion_mnist();
std::pair<Dataset, Dataset> fashion_mnist(const FashionMnistOptions& options = {});

}  // namespace cohort::datasets
