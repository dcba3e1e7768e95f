#include "cohort/datasets/sources/records_index.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "cohort/core/error.h"
#include "cohort/datasets/sources/file_elements.h"
#include "cohort/datasets/sources/file_records.h"
#include "cohort/datasets/sources/tf_record_file.h"

namespace cohort::datasets {
namespace {

// Enough for some ten million records.
constexpr std::uint64_t kMostIndexBytes = std::uint64_t{1} << 30;

// Takes a number off the front of a line, and the spaces before it.
bool take_number(std::string_view& line, std::uint64_t& number) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (problem != std::errc()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return true;
}

bool parse_place(std::string_view line, RecordPlace& place) {
  return take_number(line, place.offset) && take_number(line, place.bytes) &&
         line.find_first_not_of(" \t") == std::string_view::npos;
}

// Whether there can be such a record, behind those before.
bool is_possible(const RecordPlace& place, std::uint64_t behind, const InputFile& file) {
  constexpr std::uint64_t kAround = kRecordHeader + kRecordFooter;
  return place.bytes >= kAround && place.bytes <= kAround + kMostRecordBytes && place.offset >= behind &&
         place.offset <= file.bytes && place.bytes <= file.bytes - place.offset;
}

}  // namespace

std::vector<RecordPlace> find_records(const char* who, const InputFile& file) {
  std::vector<RecordPlace> places;
  TFRecordFile records(who, file, Packing::None, 0);
  for (bool more = true; more;) {
    const std::uint64_t offset = records.offset();
    try {
      more = records.pass();
      if (more) places.push_back({offset, records.offset() - offset});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::DataLoss) throw;
      // The rest of the file counts as one element, which cannot be read.
      places.push_back({offset, 0});
      more = false;
    }
  }
  return places;
}

std::vector<RecordPlace> read_records_index(const char* who, const InputFile& index, const InputFile& file) {
  std::string text;
  read_whole_file(who, index, kMostIndexBytes, text);
  std::vector<RecordPlace> places;
  std::string_view rest = text;
  RecordExtent extent;
  for (std::uint64_t line = 1, behind = 0; !rest.empty(); ++line) {
    measure_line(rest, true, extent);
    const std::string_view content = rest.substr(0, extent.content);
    rest.remove_prefix(extent.whole);
    RecordPlace place;
    if (!parse_place(content, place) || !is_possible(place, behind, file)) {
      throw Error(ErrorCode::DataLoss, who, "lines with the offset and the bytes of each record of a file are expected",
                  {{"index", index.path}, {"line", line}, {"text", shown(content)}, {"file", file.path}},
                  "Make the index of this very file anew.");
    }
    behind = place.offset + place.bytes;
    places.push_back(place);
  }
  return places;
}

}  // namespace cohort::datasets
