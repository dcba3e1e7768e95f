#include "cohort/datasets/sources/csv_rows.h"

#include <algorithm>
#include <cstring>

#include "cohort/datasets/sources/parse_number.h"

namespace cohort::datasets {
namespace {

constexpr char kQuote = '"';

const char* find_byte(const char* begin, const char* end, char byte) {
  const void* found = begin == end ? nullptr : std::memchr(begin, byte, static_cast<std::size_t>(end - begin));
  return found ? static_cast<const char*>(found) : end;
}

// Behind the quote that closes what opened before `at`; nullptr when there is none.
const char* behind_quotes(const char* at, const char* end) {
  for (;;) {
    at = find_byte(at, end, kQuote);
    if (at == end) return nullptr;
    if (++at == end || *at != kQuote) return at;
    ++at;
  }
}

struct CsvField {
  std::string_view text;
  const char* end;      // where the delimiter or the row's end is expected
  const char* problem;  // nullptr: none
};

// The field at the beginning of [at, end); one with quotes in it is put together in `memory`.
CsvField csv_field_at(const CsvDialect& dialect, const char* at, const char* end, std::string& memory) {
  if (!dialect.quotes || at == end || *at != kQuote) {
    const char* stop = find_byte(at, end, dialect.delimiter);
    const bool stray = dialect.quotes && find_byte(at, stop, kQuote) != stop;
    return {{at, static_cast<std::size_t>(stop - at)}, stop, stray ? "no quotes in a field without quotes" : nullptr};
  }
  const char* behind = behind_quotes(at + 1, end);
  if (!behind) return {{at, static_cast<std::size_t>(end - at)}, end, "a quote that closes the field"};
  std::string_view inside(at + 1, static_cast<std::size_t>(behind - at) - 2);
  if (inside.find(kQuote) != inside.npos) {
    memory.clear();
    for (std::size_t i = 0; i < inside.size(); ++i) {
      memory.push_back(inside[i]);
      if (inside[i] == kQuote) ++i;  // two stand for one
    }
    inside = memory;
  }
  const bool ends = behind == end || *behind == dialect.delimiter;
  return {inside, behind, ends ? nullptr : "a delimiter behind the quote that closes the field"};
}

}  // namespace

bool measure_csv_row(const CsvDialect& dialect, std::string_view bytes, bool at_end, RecordExtent& extent) {
  if (!measure_line(bytes, at_end, extent)) return false;
  extent.is_element = extent.content > 0;
  const char *begin = bytes.data(), *end = begin + bytes.size(), *line_end = begin + extent.content;
  if (!dialect.quotes || find_byte(begin, line_end, kQuote) == line_end) return true;
  for (const char* at = begin;;) {
    if (at != end && *at == kQuote) {
      at = behind_quotes(at + 1, end);
      if (at == end && !at_end) return false;  // the next byte might be another quote
      if (!at) {
        if (!at_end) return false;
        at = end;
      }
    }
    const char* line = find_byte(at, end, '\n');
    const char* delimiter = find_byte(at, line, dialect.delimiter);
    if (delimiter != line) {
      at = delimiter + 1;
      continue;
    }
    if (line == end && !at_end) return false;
    extent.whole = static_cast<std::size_t>(line - begin) + (line == end ? 0 : 1);
    extent.content = static_cast<std::size_t>(line - begin);
    if (line != end && line > begin && line[-1] == '\r') --extent.content;
    extent.lines = static_cast<std::uint64_t>(std::count(begin, line, '\n')) + 1;
    return true;
  }
}

std::vector<std::string> split_csv_row(const char* who, const CsvDialect& dialect, const RecordText& row) {
  std::vector<std::string> fields;
  std::string memory;
  const char* end = row.text.data() + row.text.size();
  for (const char* at = row.text.data();; ++at) {
    const CsvField field = csv_field_at(dialect, at, end, memory);
    if (field.problem) {
      throw invalid_argument(who, std::string(field.problem) + " is expected",
                             {{"file", *row.file}, {"line", row.line}, {"field", shown(field.text)}});
    }
    fields.emplace_back(field.text);
    at = field.end;
    if (at == end) return fields;
  }
}

void CsvRows::parse(const RecordText& row, std::span<const RowMemory> leaves, std::size_t number) const {
  const char* at = row.text.data();
  const char* const end = at + row.text.size();
  std::string memory;
  for (std::size_t column = 0;; ++column, ++at) {
    if (column == targets_.size()) {
      wrong(row, column, {at, static_cast<std::size_t>(end - at)},
            "a row of " + std::to_string(column) + " columns is expected, not of more");
    }
    const CsvTarget& target = targets_[column];
    const char* stop = nullptr;
    if (target.leaf >= 0) {
      const RowMemory& leaf = leaves[static_cast<std::size_t>(target.leaf)];
      stop = parse_usual_number(at, end, dialect_.delimiter, target.dtype,
                                leaf.first + number * leaf.row_bytes + target.offset);
      // What counts as empty may look like a number.
      if (stop && dialect_.na_value == std::string_view(at, static_cast<std::size_t>(stop - at))) stop = nullptr;
    }
    if (!stop) {
      const CsvField field = csv_field_at(dialect_, at, end, memory);
      if (field.problem) wrong(row, column, field.text, std::string(field.problem) + " is expected");
      write(row, column, field.text, leaves, number);
      stop = field.end;
    }
    at = stop;
    if (at != end) continue;
    if (column + 1 == targets_.size()) return;
    wrong(row, column + 1, {}, "a row of " + std::to_string(targets_.size()) + " columns is expected, not of fewer");
  }
}

void CsvRows::write(const RecordText& row, std::size_t column, std::string_view field,
                    std::span<const RowMemory> leaves, std::size_t number) const {
  const CsvTarget& target = targets_[column];
  if (target.leaf < 0) return;
  const RowMemory& leaf = leaves[static_cast<std::size_t>(target.leaf)];
  char* memory = leaf.first + number * leaf.row_bytes + target.offset;
  const bool empty = field.empty() || field == dialect_.na_value;
  if (empty && !target.has_default) {
    wrong(row, column, field, "a value is expected: the column has no default");
  }
  if (target.dtype == DType::String) {
    reinterpret_cast<std::string*>(memory)->assign(empty ? std::string_view(target.text) : field);
  } else if (empty) {
    std::memcpy(memory, target.number.data(), size_of(target.dtype));
  } else if (!parse_value(field, target.dtype, memory)) {
    wrong(row, column, field, std::string("a value of type ") + to_string(target.dtype) + " is expected");
  }
}

void CsvRows::wrong(const RecordText& row, std::size_t column, std::string_view field,
                    std::string_view expected) const {
  throw invalid_argument(who_, expected,
                         {{"file", *row.file},
                          {"line", row.line},
                          {"offset", row.offset},
                          {"column", column < names_.size() ? shown(names_[column]) : std::to_string(column)},
                          {"field", shown(field)}});
}

}  // namespace cohort::datasets
