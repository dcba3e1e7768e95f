#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Tuples of one element of each dataset; the shortest one ends them: zip({images, labels}).
//   datasets: at least one.
Dataset zip(const std::vector<Dataset>& datasets);
// Dicts of one element of each dataset, by name: zip({{"image", images}, {"label", labels}}).
//   datasets: at least one; no name twice.
Dataset zip(const std::vector<std::pair<std::string, Dataset>>& datasets);

}  // namespace cohort::datasets
