#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/core/dtype.h"
#include "cohort/core/shape.h"
#include "cohort/data/dataset.h"

namespace cohort::datasets {

// A part of the samples that web_dataset reads.
struct WebField {
  // What follows the first dot in the name of its member: "jpg", "seg.png". Several, the better one first, with ";"
  // between them: "jpg;jpeg;png". "__key__": the sample's key, as a string.
  std::string extension;
  // What it becomes: "bytes" a string with the whole member; "image" the uint8 pixels (height, width, channels) of a
  // JPEG, PNG, BMP or GIF; "integer" the int64 that the member is the text of; "npy" the array of a .npy file.
  std::string decode = "bytes";
  // What the dict calls it; empty: the first extension.
  std::string name = "";
  // Of "image": 1, 3 or 4.
  std::int64_t channels = 3;
  // Of "npy": the array's, as a tensor has it.
  DType dtype = DType::Float32;
  // Of "npy": at least one axis; sizes may be kUnknown.
  Shape shape = {kUnknown};
};

// Samples of tar files as WebDataset writes them, one file after the other, as dicts of the fields asked for. Members
// one after the other whose names are alike up to the first dot behind the last slash make a sample: that is its key,
// and what follows the dot, in small letters, the extension. Folders, links, files with holes, names without such a dot
// and names that begin with "__" are passed by. Files may be packed with gzip or zstd, which their first bytes tell.
//
// A sample that lacks a field, has an extension twice, takes more than 1 GiB or cannot be decoded is an error in its
// place, which names file, offset and key. So is, once, what follows a damaged place: the rest of that file is lost,
// and the next file follows.
//   files: their paths; each must be there, and is expected to keep its size.
//   fields: at least one.
Dataset web_dataset(const std::vector<std::string>& files, const std::vector<WebField>& fields);
// The samples of one file.
Dataset web_dataset(const std::string& file, const std::vector<WebField>& fields);

}  // namespace cohort::datasets
