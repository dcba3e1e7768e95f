#include "tests/interop/images.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cohort/core/error.h"
#include "cohort/datasets/images/resize_image.h"
#include "cohort/datasets/utilities/image_dataset_from_directory.h"
#include "cohort/saving/hdf5/hdf5_file.h"

namespace cohort::interop {
namespace {

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Tensor resized(const std::string& bytes, datasets::DecodeImageOptions decoding, const nlohmann::json& request) {
  const datasets::ResizeOptions resizing{
      .height = request["size"][0],
      .width = request["size"][1],
      .interpolation = datasets::interpolation_of("interop", request.value("interpolation", "bilinear")),
      .aspect_ratio = request.value("crop", false)  ? datasets::AspectRatio::Crop
                      : request.value("pad", false) ? datasets::AspectRatio::Pad
                                                    : datasets::AspectRatio::Stretch};
  if (request.value("dct_scaling", false)) {
    decoding.least_height = resizing.height;
    decoding.least_width = resizing.width;
  }
  datasets::DecodedImage image;
  decode_image(bytes, decoding, image);
  Tensor result = Tensor::empty(DType::Float32, {resizing.height, resizing.width, image.channels()}, cpu());
  datasets::ImageResizer(resizing).resize(image, static_cast<float*>(result.raw()));
  return result;
}

Tensor decoded(const nlohmann::json& request) {
  const std::string bytes = bytes_of_file(request["file"]);
  const datasets::DecodeImageOptions decoding{.channels = request.value("channels", std::int64_t{0}),
                                              .accurate = request.value("accurate", false),
                                              .try_recover_truncated = request.value("try_recover_truncated", false)};
  return request.contains("size") ? resized(bytes, decoding, request) : datasets::decode_image(bytes, decoding);
}

void decode_all(const std::string& requests, const std::string& out_file) {
  Hdf5File out = Hdf5File::create(out_file);
  int number = 0;
  for (const nlohmann::json& request : nlohmann::json::parse(bytes_of_file(requests))) {
    try {
      out.write(std::to_string(number), decoded(request));
    } catch (const Error& error) {
      std::printf("%d %s\n", number, error.what());
    }
    ++number;
  }
  out.close();
}

utils::ImageDatasetOptions folder_options(const nlohmann::json& given) {
  utils::ImageDatasetOptions options{.verbose = false};
  const auto take = [&given](const char* name, auto& option) {
    if (given.contains(name)) given[name].get_to(option);
  };
  if (given.contains("labels")) {
    const nlohmann::json& labels = given["labels"];
    options.labels = labels.is_null() ? utils::DirectoryLabels(std::nullopt)
                                      : utils::DirectoryLabels(labels.get<std::vector<std::int32_t>>());
  }
  if (given.contains("label_mode")) {
    options.label_mode.reset();
    if (!given["label_mode"].is_null()) options.label_mode = given["label_mode"].get<std::string>();
  }
  if (given.contains("seed")) options.seed = given["seed"].get<std::int64_t>();
  take("class_names", options.class_names);
  take("color_mode", options.color_mode);
  take("batch_size", options.batch_size);
  take("image_size", options.image_size);
  take("shuffle", options.shuffle);
  take("validation_split", options.validation_split);
  take("subset", options.subset);
  take("interpolation", options.interpolation);
  take("crop_to_aspect_ratio", options.crop_to_aspect_ratio);
  take("pad_to_aspect_ratio", options.pad_to_aspect_ratio);
  return options;
}

void write_elements(Hdf5File& out, const std::string& part, const Dataset& dataset) {
  const auto iterator = dataset.make_iterator();
  int number = 0;
  for (Tensors element; iterator->next(element); ++number) {
    for (std::size_t leaf = 0; leaf < element.size(); ++leaf) {
      out.write(part + "/" + std::to_string(leaf) + "/" + std::to_string(number), element[leaf]);
    }
  }
}

void read_folder(const std::string& directory, const std::string& options, const std::string& out_file) {
  const auto [dataset, validation, class_names] =
      utils::image_dataset_from_directory(directory, folder_options(nlohmann::json::parse(options)));
  Hdf5File out = Hdf5File::create(out_file);
  write_elements(out, "dataset", dataset);
  if (validation.defined()) write_elements(out, "validation", validation);
  out.close();
  for (const std::string& name : class_names) std::printf("%s\n", name.c_str());
}

}  // namespace

bool images(const std::vector<std::string>& arguments) {
  const std::string kind = arguments.empty() ? "" : arguments[0];
  if (arguments.size() == 3 && kind == "decode") {
    decode_all(arguments[1], arguments[2]);
  } else if (arguments.size() == 4 && kind == "folder") {
    read_folder(arguments[1], arguments[2], arguments[3]);
  } else {
    return false;
  }
  return true;
}

}  // namespace cohort::interop
