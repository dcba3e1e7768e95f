#include "cohort/datasets/utilities/image_dataset_from_directory.h"

#include "cohort/core/error.h"
#include "cohort/datasets/sources/image_files.h"

namespace cohort::utils {
namespace {

constexpr const char* kImageDirectory = "utils.image_dataset_from_directory";

Dataset images_of(const LabeledFiles& files, std::size_t classes, const ImageDatasetOptions& options) {
  const datasets::ImageFilesOptions reading{.image_size = options.image_size,
                                            .color_mode = options.color_mode,
                                            .interpolation = options.interpolation,
                                            .crop_to_aspect_ratio = options.crop_to_aspect_ratio,
                                            .pad_to_aspect_ratio = options.pad_to_aspect_ratio,
                                            .dct_scaling = options.dct_scaling};
  if (files.labels.empty()) return datasets::image_files(files.paths, reading);
  return datasets::image_files(files.paths,
                               {.labels = {files.labels.begin(), files.labels.end()},
                                .label_mode = *options.label_mode,
                                .num_classes = static_cast<std::int64_t>(classes)},
                               reading);
}

}  // namespace

DirectoryDataset image_dataset_from_directory(const std::string& directory, const ImageDatasetOptions& options) {
  if (options.batch_size < 0) {
    throw invalid_argument(kImageDirectory, "`batch_size` must be 0 or greater", {{"batch_size", options.batch_size}});
  }
  const DirectoryIndex index = index_directory(
      query_of(kImageDirectory, "image", {".bmp", ".gif", ".jpeg", ".jpg", ".png"}, directory, options));
  const auto make = [&](const LabeledFiles& files, bool shuffle) {
    Dataset data = images_of(files, index.class_names.size(), options);
    // All files at once: images are reached by number, so that a large buffer costs nothing.
    if (shuffle) data = data.shuffle(static_cast<std::int64_t>(files.paths.size()), {.seed = index.seed});
    if (options.batch_size > 0) data = data.batch(options.batch_size);
    return data.prefetch(kAutotune);
  };
  DirectoryDataset result{make(index.files, options.shuffle), {}, index.class_names};
  if (options.subset == "both") result.validation = make(index.validation, false);
  return result;
}

}  // namespace cohort::utils
