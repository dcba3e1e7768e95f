#include <string>
#include <vector>

#include "cohort/datasets/sources/csv_rows.h"
#include "tests/fuzz/fuzz_target.h"

// The first byte chooses the dialect, the rest is a file of a float, an integer and a text in each row.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace cohort;
  using namespace cohort::datasets;
  if (count == 0) return 0;
  const CsvDialect dialect{bytes[0] & 1 ? ',' : '\t', (bytes[0] & 2) != 0, bytes[0] & 4 ? "NA" : ""};
  std::vector<CsvTarget> targets(3);
  constexpr DType kTypes[] = {DType::Float32, DType::Int64, DType::String};
  for (int i = 0; i < 3; ++i) {
    targets[static_cast<std::size_t>(i)].leaf = i;
    targets[static_cast<std::size_t>(i)].dtype = kTypes[i];
  }
  const CsvRows rows("fuzz", dialect, targets, {});
  std::string_view rest = fuzz::text_of(bytes + 1, count - 1);
  const std::string file = "file";
  for (std::uint64_t line = 1; !rest.empty();) {
    RecordExtent extent;
    fuzz::require(measure_csv_row(dialect, rest, true, extent));
    fuzz::require(extent.whole > 0 && extent.content <= extent.whole && extent.whole <= rest.size());
    // With fewer bytes it either asks for more or says the same.
    RecordExtent shorter;
    if (measure_csv_row(dialect, rest.substr(0, extent.whole), false, shorter)) {
      fuzz::require(shorter.whole == extent.whole && shorter.content == extent.content);
    }
    float number = 0;
    std::int64_t integer = 0;
    std::string text;
    const RowMemory leaves[] = {{reinterpret_cast<char*>(&number), sizeof number},
                                {reinterpret_cast<char*>(&integer), sizeof integer},
                                {reinterpret_cast<char*>(&text), sizeof text}};
    const RecordText row{rest.substr(0, extent.content), &file, 0, line};
    fuzz::read_or_refuse([&] { rows.parse(row, leaves, 0); });
    fuzz::read_or_refuse([&] { split_csv_row("fuzz", dialect, row); });
    rest.remove_prefix(extent.whole);
    line += extent.lines;
  }
  return 0;
}
