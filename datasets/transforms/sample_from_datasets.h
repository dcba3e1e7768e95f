#pragma once

#include <optional>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// What sample_from_datasets takes besides the datasets.
struct SampleOptions {
  // How often each dataset is chosen, relative to the others; none: all alike. Of one with weight 0 nothing comes.
  std::vector<double> weights = {};
  std::optional<std::int64_t> seed = std::nullopt;
  // End when a dataset is chosen that has ended; otherwise go on with the others.
  bool stop_on_empty_dataset = false;
  // Choose anew in every epoch.
  bool rerandomize_each_iteration = false;
};

// Elements of several datasets, each drawn from one that is chosen at random.
//   datasets: at least one; elements of one structure and the same types.
Dataset sample_from_datasets(const std::vector<Dataset>& datasets, SampleOptions options = {});

}  // namespace cohort::datasets
