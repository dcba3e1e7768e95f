#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// What image_files takes besides the files.
struct ImageFilesOptions {
  // Height and width of the images that come out.
  std::array<std::int64_t, 2> image_size = {256, 256};
  // "rgb", "rgba" or "grayscale": 3, 4 or 1 channels.
  std::string color_mode = "rgb";
  // "bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian" or "mitchellcubic".
  std::string interpolation = "bilinear";
  // Take the largest part from the middle that has the ratio of image_size.
  bool crop_to_aspect_ratio = false;
  // Show all of the image, with black beside it.
  bool pad_to_aspect_ratio = false;
  // Decode JPEG with libjpeg's accurate transform, as Pillow does, and not with the fast one of TensorFlow.
  bool accurate = false;
  // Decode JPEG at a half, a quarter or an eighth of its size where image_size is still smaller: quicker, and smoother.
  bool dct_scaling = false;
};

// What stands beside each image.
struct ImageLabels {
  // One for each file.
  std::vector<std::int64_t> labels = {};
  // "int": int32 scalars; "binary": float32 of shape (1,); "categorical": float32 of shape (num_classes,), 1 at the
  // label and 0 elsewhere.
  std::string label_mode = "int";
  // Only for "categorical".
  std::int64_t num_classes = 0;
};

// Images of files, as float32 from 0 to 255 of shape (height, width, channels). Each is read when it is asked for; one
// that cannot be is an error of its element. Any element is reached by its number, and batch decodes several at a time
// into its rows.
//   files: paths of JPEG, PNG, BMP and GIF files; of a GIF the first frame.
Dataset image_files(const std::vector<std::string>& files, const ImageFilesOptions& options = {});
// Pairs (image, label).
Dataset image_files(const std::vector<std::string>& files, const ImageLabels& labels,
                    const ImageFilesOptions& options = {});

}  // namespace cohort::datasets
