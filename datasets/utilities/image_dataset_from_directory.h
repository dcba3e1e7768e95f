#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/datasets/utilities/directory_index.h"

namespace cohort::utils {

// What image_dataset_from_directory takes besides the directory.
struct ImageDatasetOptions {
  // "inferred", std::nullopt, or a label for each file in the order of their paths.
  DirectoryLabels labels = "inferred";
  // "int": int32; "binary": float32 of shape (batch, 1), of two classes; "categorical": float32 of shape (batch,
  // classes); none: images alone.
  std::optional<std::string> label_mode = "int";
  // The subfolders to read, in the order of their labels; none: all, sorted by bytes.
  std::vector<std::string> class_names = {};
  // "rgb", "rgba" or "grayscale": 3, 4 or 1 channels.
  std::string color_mode = "rgb";
  // Images of a batch; 0: single images.
  std::int64_t batch_size = 32;
  // Height and width that images are resized to.
  std::array<std::int64_t, 2> image_size = {256, 256};
  // Take another order in every epoch; else files are sorted.
  bool shuffle = true;
  // Of the split and of the orders.
  std::optional<std::int64_t> seed = std::nullopt;
  // Part of the files to keep for validation; 0: there is no such part.
  double validation_split = 0;
  // "training", "validation" or "both"; "" without a split.
  std::string subset = {};
  // "bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian" or "mitchellcubic".
  std::string interpolation = "bilinear";
  // Walk into subfolders that are links.
  bool follow_links = false;
  // Take the largest part from the middle of an image that has the ratio of image_size.
  bool crop_to_aspect_ratio = false;
  // Show all of an image, with black beside it.
  bool pad_to_aspect_ratio = false;
  // Print what was found.
  bool verbose = true;
  // Decode JPEG at a half, a quarter or an eighth of its size where image_size is still smaller: quicker, but these are
  // not Keras's pixels.
  bool dct_scaling = false;
};

// Batches of the images (.bmp, .gif, .jpeg, .jpg, .png) of a folder with one subfolder for each class, as float32 from
// 0 to 255 of shape (batch, height, width, channels), with their labels. The same seed splits the files as Keras does.
//   directory: the folder.
DirectoryDataset image_dataset_from_directory(const std::string& directory, const ImageDatasetOptions& options = {});

}  // namespace cohort::utils
