#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cohort/data/dataset.h"
#include "cohort/datasets/sources/source_file.h"

namespace cohort::datasets {

// How the files of a collection of labelled images are read.
struct ImageCollection {
  // Names the source in errors.
  const char* who;
  // All images and all labels, from the files of a split.
  std::function<Tensors(const std::vector<InputFile>& files)> read;
};

// The maker of a kind of stage whose files are read when first needed, and must then have the sizes and shapes that
// make_images() was told.
DatasetMaker images_maker(ImageCollection collection);

// The dataset of one split.
//   kind: as images_maker() was registered.
//   files: what it reads.
//   images, labels: specs of all of them, axis 0 included.
Dataset make_images(const char* who, const std::string& kind, const std::vector<std::string>& files,
                    const TensorSpec& images, const TensorSpec& labels);

// The pairs of two IDX files: images and labels.
//   kind: as it was registered with images_maker() and read_idx_pair.
Dataset make_idx_pair(const char* who, const std::string& kind, const std::string& images, const std::string& labels);
// read_idx for a file of a dataset.
Tensor read_idx_file(const InputFile& file);
// What ImageCollection::read is for those.
Tensors read_idx_pair(const std::vector<InputFile>& files);

// The path of a file, gzipped ("name.gz") or not, in a folder; throws NotFound.
//   fix: where to get it.
std::string find_in_folder(const char* who, const std::string& folder, const std::string& name, const std::string& fix);

}  // namespace cohort::datasets
