#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cohort/core/shape.h"

namespace cohort::golden {

// Everything that was logged under one tag of a run.
struct LoggedTag {
  std::string plugin, plugin_content;
  std::string kind;   // field of the value: "tensor" or "simple_value"
  std::string dtype;  // TensorFlow's name
  int data_class = 0;
  std::vector<Shape> shapes;  // one of each
  std::vector<std::int64_t> steps;
  std::vector<std::vector<double>> values;        // of each step; numeric tensors only
  std::vector<std::vector<std::string>> strings;  // of each step; string tensors only
  int metadata_count = 0;
};

// One run: the event files of one folder, as they were written.
struct LoggedRun {
  int files = 0;
  std::vector<std::string> file_versions;
  std::map<std::string, LoggedTag> tags;
};

// The runs below a folder by their paths in it: "train", "validation".
std::map<std::string, LoggedRun> read_event_logs(const std::string& folder);

// The pixels of a PNG file as rows of RGBA.
std::vector<std::uint8_t> decode_png(const std::string& file);

}  // namespace cohort::golden
