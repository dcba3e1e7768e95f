#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cohort/core/op.h"
#include "cohort/variables/variable.h"

namespace cohort {

// Rows [first, first + count) of axis 0.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

// `rows` cut into as many ranges, as even as can be and never more than there are rows; the first are the longer ones.
std::vector<RowRange> split_rows(std::int64_t rows, std::int64_t ranges);
// Which rows of the whole each shard holds.
std::vector<RowRange> row_ranges(std::span<const Variable> shards);
// The options of shard `index` of a variable: called "<name>/part_<index>".
VariableOptions shard_options(const VariableOptions& whole, std::int64_t index);
// The body of a variable whose rows lie in the shards, in order; they must agree in type and in all axes but the first.
std::shared_ptr<VariableBody> join_shards(Variables shards, VariableOptions options);
// Each variable's shards in its place.
Variables shards_of(const Variables& variables);

// A shard's rows of a value of the whole.
Tensor rows_of(const Tensor& value, const RowRange& range);
// The same of slices. They keep their number: those of other shards add zeros to some row. An index that no shard has
// stays wrong in the first or the last one.
IndexedSlices rows_of(const IndexedSlices& slices, std::span<const RowRange> ranges, std::size_t shard);

}  // namespace cohort
