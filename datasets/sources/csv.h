#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/dtype.h"
#include "cohort/data/dataset.h"

namespace cohort::datasets {

// A column of a CSV file, by the name in the header or by number.
struct CsvColumn {
  CsvColumn(std::string name) : name(std::move(name)) {}
  CsvColumn(const char* name) : name(name) {}
  CsvColumn(int number) : number(number) {}
  // Its name; used when the number is negative.
  std::string name;
  // Its number, from 0.
  std::int64_t number = -1;
};

// One tensor of an element of csv.
struct CsvTensor {
  // Where its values are: one column makes a scalar, several make a vector.
  std::vector<CsvColumn> columns;
  // int32, int64, float32, float64, string or bool ("true", "false", "1", "0").
  DType dtype = DType::Float32;
  // What an empty field stands for, as text; without it, an empty field is an error.
  std::optional<std::string> default_value = std::nullopt;
  // Its key in a dict; "": the name of its first column.
  std::string name = "";
};

// What csv takes besides the files.
struct CsvOptions {
  // The tensors of an element; none: every column is a float32.
  std::vector<CsvTensor> tensors = {};
  // The first line of each file names the columns.
  bool header = true;
  // What is between two fields.
  char delimiter = ',';
  // Whether fields may be written between quotes, with delimiters and new lines in them.
  bool use_quotes = true;
  // A text that counts as an empty field.
  std::string na_value = "";
  // Elements are dicts by name, not tuples.
  bool dict = false;
  // How the files are packed: "", "gzip" or "zlib".
  std::string compression = "";
};

// The rows of CSV files (RFC 4180), one file after the other: tuples of the tensors asked for, a single one by itself,
// or dicts. Lines end with "\n" or "\r\n"; blank ones are passed by. A row that is wrong is an error that names file,
// line and column; the one after it comes next. A batch right behind has its rows parsed straight into its memory. The
// files must not change while the dataset is used.
//   files: regular files with the same columns, read where the dataset is walked.
Dataset csv(const std::vector<std::string>& files, const CsvOptions& options = {});
// The rows of one file.
Dataset csv(const std::string& file, const CsvOptions& options = {});

}  // namespace cohort::datasets
