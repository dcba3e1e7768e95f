#include "tests/golden/event_log.h"

#include <png.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/files/atomic_file.h"
#include "cohort/files/record.h"
#include "cohort/summary/event.pb.h"

namespace cohort::golden {
namespace {

using summary::Event;

std::string tensorflow_dtype_name(int number) {
  switch (number) {
    case 1:
      return "DT_FLOAT";
    case 2:
      return "DT_DOUBLE";
    case 7:
      return "DT_STRING";
    default:
      return "DT_" + std::to_string(number);
  }
}

template <class T>
std::vector<double> numbers_in(const std::string& content) {
  std::vector<T> values(content.size() / sizeof(T));
  std::memcpy(values.data(), content.data(), values.size() * sizeof(T));
  return {values.begin(), values.end()};
}

std::vector<double> numbers_of(const summary::TensorProto& tensor) {
  if (tensor.dtype() == 1) {
    if (tensor.float_val_size() > 0) return {tensor.float_val().begin(), tensor.float_val().end()};
    return numbers_in<float>(tensor.tensor_content());
  }
  if (tensor.double_val_size() > 0) return {tensor.double_val().begin(), tensor.double_val().end()};
  return numbers_in<double>(tensor.tensor_content());
}

void add_logged_value(const summary::Summary::Value& value, std::int64_t step, LoggedRun& run) {
  LoggedTag& tag = run.tags[value.tag()];
  tag.steps.push_back(step);
  if (value.has_metadata()) ++tag.metadata_count;
  if (const auto& data = value.metadata().plugin_data(); !data.plugin_name().empty()) {
    tag.plugin = data.plugin_name();
    tag.plugin_content = data.content();
    tag.data_class = value.metadata().data_class();
  }
  if (!value.has_tensor()) {
    tag.kind = "simple_value";
    return;
  }
  const summary::TensorProto& tensor = value.tensor();
  tag.kind = "tensor";
  tag.dtype = tensorflow_dtype_name(tensor.dtype());
  Shape shape;
  for (const auto& dim : tensor.tensor_shape().dim()) shape.push_back(dim.size());
  if (std::find(tag.shapes.begin(), tag.shapes.end(), shape) == tag.shapes.end()) tag.shapes.push_back(shape);
  if (tensor.dtype() == 7) {
    tag.strings.emplace_back(tensor.string_val().begin(), tensor.string_val().end());
  } else {
    tag.values.push_back(numbers_of(tensor));
  }
}

void read_logged_events(const std::string& file, LoggedRun& run) {
  const std::string bytes = read_file(file);
  std::size_t position = 0;
  std::string_view record;
  while (next_record(bytes, position, record)) {
    Event event;
    if (!event.ParseFromArray(record.data(), static_cast<int>(record.size()))) {
      throw Error(ErrorCode::DataLoss, "event file", "every record must be an event", {{"file", file}});
    }
    if (event.what_case() == Event::kFileVersion) run.file_versions.push_back(event.file_version());
    for (const auto& value : event.summary().value()) add_logged_value(value, event.step(), run);
  }
  if (position != bytes.size()) {
    throw Error(ErrorCode::DataLoss, "event file", "no record must be cut off", {{"file", file}});
  }
}

}  // namespace

std::map<std::string, LoggedRun> read_event_logs(const std::string& folder) {
  std::map<std::string, LoggedRun> runs;
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) files.insert(entry.path());
  for (const std::filesystem::path& file : files) {
    if (file.filename().string().find("tfevents") == std::string::npos) continue;
    LoggedRun& run = runs[std::filesystem::relative(file.parent_path(), folder).string()];
    ++run.files;
    read_logged_events(file.string(), run);
  }
  return runs;
}

std::vector<std::uint8_t> decode_png(const std::string& file) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  std::vector<std::uint8_t> pixels;
  int good = png_image_begin_read_from_memory(&image, file.data(), file.size());
  if (good != 0) {
    image.format = PNG_FORMAT_RGBA;
    pixels.resize(PNG_IMAGE_SIZE(image));
    good = png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr);
  }
  if (good == 0) throw Error(ErrorCode::DataLoss, "PNG", "a picture is expected", {{"error", image.message}});
  return pixels;
}

}  // namespace cohort::golden
