#include "cohort/variables/shards.h"

#include <algorithm>

#include "cohort/core/text.h"
#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/slicing.h"
#include "cohort/variables/variable_body.h"

namespace cohort {

// A variable that has no memory of its own: its rows lie in others.
class ShardedBody : public VariableBody {
 public:
  ShardedBody(TensorSpec spec, VariableOptions options, Variables shards)
      : VariableBody(std::move(spec), std::move(options)), shards_(std::move(shards)) {}
  const std::vector<Variable>& parts() const override { return shards_; }

  static std::shared_ptr<VariableBody> make(TensorSpec spec, VariableOptions options, Variables shards) {
    auto body = std::make_shared<ShardedBody>(std::move(spec), std::move(options), std::move(shards));
    for (const Variable& shard : body->shards_) {
      if (shard.body()->whole_.expired()) shard.body()->whole_ = body;
    }
    return body;
  }

 private:
  Variables shards_;
};

std::vector<RowRange> split_rows(std::int64_t rows, std::int64_t ranges) {
  ranges = std::clamp<std::int64_t>(ranges, 1, std::max<std::int64_t>(rows, 1));
  std::vector<RowRange> result;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < ranges; ++i) {
    result.push_back({first, rows / ranges + (i < rows % ranges ? 1 : 0)});
    first += result.back().count;
  }
  return result;
}

std::vector<RowRange> row_ranges(std::span<const Variable> shards) {
  std::vector<RowRange> ranges;
  std::int64_t first = 0;
  for (const Variable& shard : shards) {
    ranges.push_back({first, shard.shape()[0]});
    first += shard.shape()[0];
  }
  return ranges;
}

VariableOptions shard_options(const VariableOptions& whole, std::int64_t index) {
  const std::string part = "/part_" + std::to_string(index);
  VariableOptions options = whole;
  options.name += part;
  if (!options.path.empty()) options.path += part;
  return options;
}

std::shared_ptr<VariableBody> join_shards(Variables shards, VariableOptions options) {
  const std::string who = titled("Variable", options.name);
  if (shards.empty()) throw invalid_argument(who, "a sharded variable needs at least one shard");
  if (shards[0].shape().rank() == 0) {
    throw invalid_argument(who, "a shard must have at least one axis", {{"shape", shards[0].shape()}});
  }
  TensorSpec whole{shards[0].dtype(), shards[0].shape()};
  whole.shape[0] = 0;
  for (const Variable& shard : shards) {
    Shape others = shard.shape(), expected = whole.shape;
    if (others.rank() > 0) others[0] = expected[0] = 0;
    if (shard.sharded() || shard.dtype() != whole.dtype || others != expected) {
      throw invalid_argument(who, "shards must be whole variables that agree in type and in all axes but the first",
                             {{"shard", shard.path()},
                              {"shape", shard.shape()},
                              {"first shard's shape", shards[0].shape()},
                              {"dtype", shard.dtype()}});
    }
    whole.shape[0] += shard.shape()[0];
  }
  options.dtype = whole.dtype;
  return ShardedBody::make(std::move(whole), std::move(options), std::move(shards));
}

Variables shards_of(const Variables& variables) {
  Variables result;
  for (const Variable& variable : variables) {
    for (Variable& shard : variable.shards()) result.push_back(std::move(shard));
  }
  return result;
}

Tensor rows_of(const Tensor& value, const RowRange& range) {
  const auto rank = static_cast<std::size_t>(value.rank());
  std::vector<std::int64_t> begin(rank, 0), size(rank, -1);
  begin[0] = range.first;
  size[0] = range.count;
  return ops::slice(value, begin, size);
}

IndexedSlices rows_of(const IndexedSlices& slices, std::span<const RowRange> ranges, std::size_t shard) {
  const RowRange& range = ranges[shard];
  const double last = static_cast<double>(range.count - 1);
  Tensor row = slices.indices - static_cast<double>(range.first);
  Tensor inside = ops::logical_and(ops::greater_equal(row, 0.0), ops::less_equal(row, last));
  for (int axis = 1; axis < slices.values.rank(); ++axis) inside = ops::expand_dims(inside, axis);
  if (shard > 0) row = ops::maximum(row, 0.0);
  if (shard + 1 < ranges.size()) row = ops::minimum(row, last);
  return {ops::where(inside, slices.values, 0.0), row, slices.like.defined() ? rows_of(slices.like, range) : Tensor(),
          slices.collective};
}

}  // namespace cohort
