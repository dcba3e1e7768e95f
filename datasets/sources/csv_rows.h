#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/datasets/sources/file_records.h"

namespace cohort::datasets {

// How fields are written.
struct CsvDialect {
  char delimiter = ',';
  bool quotes = true;
  std::string na_value;
};

// Finds the end of a row, as FileRecords::measure does. A quote opens only at the beginning of a field.
bool measure_csv_row(const CsvDialect& dialect, std::string_view bytes, bool at_end, RecordExtent& extent);
// The fields of a row, for the header; throws when it is none.
std::vector<std::string> split_csv_row(const char* who, const CsvDialect& dialect, const RecordText& row);

// Where a column goes.
struct CsvTarget {
  int leaf = -1;           // none: the column is left out
  std::size_t offset = 0;  // in the leaf's row, in bytes
  DType dtype = DType::Float32;
  bool has_default = false;
  std::array<char, 8> number{};  // what an empty field stands for, or
  std::string text;              // the same of a string
};

// Parses rows into leaves; throws an error that names file, line and column where a row is wrong. Thread-safe.
class CsvRows {
 public:
  // `targets` and `names` are those of the columns, in the file's order.
  CsvRows(const char* who, CsvDialect dialect, std::vector<CsvTarget> targets, std::vector<std::string> names)
      : who_(who), dialect_(std::move(dialect)), targets_(std::move(targets)), names_(std::move(names)) {}

  const CsvDialect& dialect() const { return dialect_; }
  void parse(const RecordText& row, std::span<const RowMemory> leaves, std::size_t number) const;

 private:
  void write(const RecordText& row, std::size_t column, std::string_view field, std::span<const RowMemory> leaves,
             std::size_t number) const;
  [[noreturn]] void wrong(const RecordText& row, std::size_t column, std::string_view field,
                          std::string_view expected) const;

  const char* who_;
  CsvDialect dialect_;
  std::vector<CsvTarget> targets_;
  std::vector<std::string> names_;
};

}  // namespace cohort::datasets
