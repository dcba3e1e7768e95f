#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

// A table drawn with box characters, laid out as the one Keras's summary prints.
class TextTable {
 public:
  enum class Align { Left, Right, Center };
  struct Column {
    std::string header;
    Align align = Align::Left;
    std::int64_t width = 0;  // wished for; all shrink alike when the line is too short for them and the lines between
  };

  TextTable(std::vector<Column> columns, std::int64_t line_length);
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string to_string() const;

 private:
  std::string row_text(const std::vector<std::string>& cells, const char* bar) const;
  std::string rule(const char* left, const char* dash, const char* cross, const char* right) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Figures as that summary writes them: "1,234", "4.82 KB".
std::string with_commas(std::int64_t number);
std::string memory_text(double bytes);

}  // namespace cohort
