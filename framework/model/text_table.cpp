#include "cohort/model/text_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace cohort {
namespace {

// Characters on the screen: bytes of UTF-8 that do not continue one.
std::int64_t width_of(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

// Lines of at most `width` characters, broken between words; a longer word is cut.
std::vector<std::string> wrap(const std::string& text, std::int64_t width) {
  std::vector<std::string> lines(1);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t space = text.find(' ', text.find_first_not_of(' ', at));
    std::string word = text.substr(at, space == std::string::npos ? std::string::npos : space - at);
    at = space == std::string::npos ? text.size() : space;
    if (width_of(lines.back()) + width_of(word) > width && !lines.back().empty()) {
      lines.emplace_back();
      word.erase(0, word.find_first_not_of(' '));
    }
    while (width_of(word) > width) {
      lines.back() = word.substr(0, static_cast<std::size_t>(width));
      lines.emplace_back();
      word.erase(0, static_cast<std::size_t>(width));
    }
    lines.back() += word;
  }
  return lines;
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns, std::int64_t line_length) : columns_(std::move(columns)) {
  std::int64_t total = 0;
  for (Column& column : columns_) total += column.width += 2;  // a blank on either side
  const auto count = static_cast<std::int64_t>(columns_.size());
  std::int64_t excess = std::max<std::int64_t>(0, total - (line_length - count - 1));
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = static_cast<double>(excess) / static_cast<double>(count - i);
    const auto cut = static_cast<std::int64_t>(std::nearbyint(share));  // halves go to the even number
    columns_[static_cast<std::size_t>(i)].width -= cut;
    excess -= cut;
  }
}

std::string TextTable::rule(const char* left, const char* dash, const char* cross, const char* right) const {
  std::string text = left;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) text += cross;
    for (std::int64_t n = 0; n < columns_[i].width; ++n) text += dash;
  }
  return text + right + "\n";
}

std::string TextTable::row_text(const std::vector<std::string>& cells, const char* bar) const {
  std::vector<std::vector<std::string>> wrapped;
  std::size_t height = 1;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    wrapped.push_back(wrap(cells[i], columns_[i].width - 2));
    height = std::max(height, wrapped.back().size());
  }
  std::string text;
  for (std::size_t line = 0; line < height; ++line) {
    text += bar;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string content = line < wrapped[i].size() ? wrapped[i][line] : "";
      const std::int64_t blanks = columns_[i].width - 2 - width_of(content);
      const std::int64_t before = columns_[i].align == Align::Right    ? blanks
                                  : columns_[i].align == Align::Center ? blanks / 2
                                                                       : 0;
      text += " " + std::string(static_cast<std::size_t>(before), ' ') + content +
              std::string(static_cast<std::size_t>(blanks - before), ' ') + " " + bar;
    }
    text += "\n";
  }
  return text;
}

std::string TextTable::to_string() const {
  std::vector<std::string> headers;
  for (const Column& column : columns_) headers.push_back(column.header);
  std::string text = rule("┏", "━", "┳", "┓") + row_text(headers, "┃") + rule("┡", "━", "╇", "┩");
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (i > 0) text += rule("├", "─", "┼", "┤");
    text += row_text(rows_[i], "│");
  }
  return text + rule("└", "─", "┴", "┘");
}

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string memory_text(double bytes) {
  const char* const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
  int unit = 0;
  while (bytes >= 1024.0 && unit < 5) {
    bytes /= 1024.0;
    ++unit;
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.2f %s", bytes, units[unit]);
  return text;
}

}  // namespace cohort
