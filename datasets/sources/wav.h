#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// What wav takes besides the files.
struct WavOptions {
  // Frames of every element: longer files are cut, shorter ones filled up with zeros; -1: those of the file.
  std::int64_t desired_samples = -1;
  // Frames of a second that every file must have; 0: any.
  std::int64_t sampling_rate = 0;
};

// The sounds of WAV files, one for each, as float32 of shape (samples, channels): PCM from -1 to 1, floats as they are.
// A file that is damaged, gone or has changed since is an error in its place.
//   files: regular files, read where the dataset is walked.
Dataset wav(const std::vector<std::string>& files, const WavOptions& options = {});

}  // namespace cohort::datasets
