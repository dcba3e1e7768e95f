#include "cohort/variables/sharded_variable.h"

#include <algorithm>

#include "cohort/core/text.h"
#include "cohort/ops/array.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/slice_range.h"
#include "cohort/variables/shards.h"

namespace cohort {

ShardedVariable::ShardedVariable(Variables variables, std::string name) {
  const bool trainable =
      std::any_of(variables.begin(), variables.end(), [](const Variable& v) { return v.trainable(); });
  whole_ = Variable(join_shards(std::move(variables), {.name = std::move(name), .trainable = trainable}));
}

Tensor ShardedVariable::operator[](std::int64_t row) const {
  const std::int64_t rows = shape().rank() > 0 ? shape()[0] : 0;
  const std::int64_t wanted = row < 0 ? row + rows : row;
  if (wanted < 0 || wanted >= rows) {
    throw Error(ErrorCode::OutOfRange, titled("ShardedVariable", name()), "a row of the variable is expected",
                {{"row", row}, {"rows", rows}});
  }
  const Variables shards = variables();
  const std::vector<RowRange> ranges = row_ranges(shards);
  std::size_t shard = 0;
  while (wanted >= ranges[shard].first + ranges[shard].count) ++shard;
  return ops::take_at(shards[shard].value(), wanted - ranges[shard].first);
}

Tensor ShardedVariable::strided_slice(const std::vector<ops::SliceSpec>& axes) const {
  if (axes.empty()) return value();
  const auto& [begin, end, step] = axes[0];
  if (step == 0) throw invalid_argument(titled("ShardedVariable", name()), "a slice's step must not be 0");
  constexpr std::int64_t kOpen = ops::SliceSpec::kOpen;
  const SliceRange range = slice_range(begin, end, step, begin == kOpen, end == kOpen, shape()[0]);
  if (range.count == 0) return ops::strided_slice(value(), axes);
  // The rows between the outermost ones asked for.
  const std::int64_t last = range.start + (range.count - 1) * range.step;
  const std::int64_t low = std::min(range.start, last), high = std::max(range.start, last);
  const Variables shards = variables();
  const std::vector<RowRange> ranges = row_ranges(shards);
  Tensors touched;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (ranges[i].first + ranges[i].count <= low || ranges[i].first > high) continue;
    if (touched.empty()) offset = ranges[i].first;
    touched.push_back(shards[i].value());
  }
  std::vector<ops::SliceSpec> local = axes;
  local[0].begin = range.start - offset;
  const std::int64_t behind = last + (step > 0 ? 1 : -1) - offset;
  local[0].end = behind < 0 ? kOpen : behind;  // backwards to the very first: -1 would mean the last
  return ops::strided_slice(touched.size() == 1 ? touched[0] : ops::concatenate(touched, 0), local);
}

Tensor ShardedVariable::sparse_read(const Tensor& indices) const {
  const Variables shards = variables();
  const std::vector<RowRange> ranges = row_ranges(shards);
  Tensor result;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    // Every shard is asked for as many rows as there are indices, so that shapes do not depend on values; an index that
    // no shard has stays wrong in the first or the last one.
    Tensor row = indices - static_cast<double>(ranges[i].first);
    Tensor mine = ops::greater_equal(row, 0.0);
    if (i > 0) row = ops::maximum(row, 0.0);
    if (i + 1 < shards.size()) row = ops::minimum(row, static_cast<double>(ranges[i].count - 1));
    const Tensor rows = ops::gather(shards[i].value(), row);
    for (int axis = indices.rank(); axis < rows.rank(); ++axis) mine = ops::expand_dims(mine, axis);
    result = result.defined() ? ops::where(mine, rows, result) : rows;
  }
  return result;
}

}  // namespace cohort
