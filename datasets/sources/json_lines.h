#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/core/dtype.h"
#include "cohort/core/shape.h"
#include "cohort/data/dataset.h"

namespace cohort::datasets {

// A member of the objects that json_lines reads.
struct JsonField {
  // Its name.
  std::string name;
  // int32, int64, float32, float64, string or bool.
  DType dtype = DType::Float32;
  // Sizes of the arrays it consists of; (): a value by itself.
  Shape shape = {};
  // The JSON of what stands for a member that is missing or null; without it, that is an error.
  std::optional<std::string> default_value = std::nullopt;
};

// What json_lines takes besides the files and the fields.
struct JsonLinesOptions {
  // How the files are packed: "", "gzip" or "zlib".
  std::string compression = "";
};

// Files with a JSON object on each line, one file after the other, as dicts of the members asked for. Blank lines are
// passed by; members that are not asked for do not matter. A line that is wrong (or longer than 64 MiB) is an error
// that names file, line and member; the next line comes next. The files must not change while the dataset is used.
//   files: regular files, read where the dataset is walked.
//   fields: at least one.
Dataset json_lines(const std::vector<std::string>& files, const std::vector<JsonField>& fields,
                   const JsonLinesOptions& options = {});
// The lines of one file.
Dataset json_lines(const std::string& file, const std::vector<JsonField>& fields, const JsonLinesOptions& options = {});

}  // namespace cohort::datasets
