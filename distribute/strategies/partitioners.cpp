#include "cohort/distribute/strategies/partitioners.h"

#include <algorithm>
#include <string>

#include "cohort/core/error.h"

namespace cohort::distribute {
namespace {

void check_positive(const char* who, const char* name, std::int64_t value) {
  if (value < 1) throw invalid_argument(who, std::string(name) + " must be 1 or more", {{name, value}});
}

void check_known(const char* who, const Shape& shape) {
  if (!shape.fully_known())
    throw invalid_argument(who, "only a variable whose shape is known can be cut", {{"shape", shape}});
}

// One count per axis: `shards` on `axis`, 1 on the others.
std::vector<std::int64_t> along(const Shape& shape, int axis, std::int64_t shards) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(shape.rank()), 1);
  counts[static_cast<std::size_t>(axis)] = std::max<std::int64_t>(1, shards);
  return counts;
}

// Bytes of what lies at one index of an axis.
std::int64_t row_bytes(const Shape& shape, DType dtype, int axis, std::int64_t bytes_per_string) {
  std::int64_t bytes = dtype == DType::String ? bytes_per_string : static_cast<std::int64_t>(size_of(dtype));
  for (int a = 0; a < shape.rank(); ++a)
    if (a != axis) bytes *= shape[a];
  return bytes;
}

std::string text_of(const std::vector<std::int64_t>& counts) {
  std::string text = "[";
  for (const std::int64_t count : counts) text += (text.size() > 1 ? ", " : "") + std::to_string(count);
  return text + "]";
}

}  // namespace

FixedShardsPartitioner::FixedShardsPartitioner(std::int64_t num_shards) : num_shards_(num_shards) {
  check_positive("FixedShardsPartitioner", "num_shards", num_shards);
}

std::vector<std::int64_t> FixedShardsPartitioner::operator()(const Shape& shape, DType, int axis) const {
  check_known("FixedShardsPartitioner", shape);
  axis = normalize_axis(axis, shape.rank(), "FixedShardsPartitioner");
  return along(shape, axis, std::min(num_shards_, shape[axis]));
}

MinSizePartitioner::MinSizePartitioner(MinSizePartitionerOptions options) : options_(options) {
  constexpr const char* kWho = "MinSizePartitioner";
  check_positive(kWho, "min_shard_bytes", options_.min_shard_bytes);
  check_positive(kWho, "max_shards", options_.max_shards);
  check_positive(kWho, "bytes_per_string", options_.bytes_per_string);
}

std::vector<std::int64_t> MinSizePartitioner::operator()(const Shape& shape, DType dtype, int axis) const {
  check_known("MinSizePartitioner", shape);
  axis = normalize_axis(axis, shape.rank(), "MinSizePartitioner");
  const std::int64_t bytes = row_bytes(shape, dtype, axis, options_.bytes_per_string);
  if (bytes == 0) return along(shape, axis, 1);
  // Counted in rows, because the smallest of unequal shards must keep to the limit too.
  const std::int64_t rows = (options_.min_shard_bytes - 1) / bytes + 1;
  return along(shape, axis, std::min(options_.max_shards, shape[axis] / rows));
}

MaxSizePartitioner::MaxSizePartitioner(std::int64_t max_shard_bytes, MaxSizePartitionerOptions options)
    : max_shard_bytes_(max_shard_bytes), options_(options) {
  constexpr const char* kWho = "MaxSizePartitioner";
  check_positive(kWho, "max_shard_bytes", max_shard_bytes_);
  if (options_.max_shards) check_positive(kWho, "max_shards", *options_.max_shards);
  check_positive(kWho, "bytes_per_string", options_.bytes_per_string);
}

std::vector<std::int64_t> MaxSizePartitioner::operator()(const Shape& shape, DType dtype, int axis) const {
  check_known("MaxSizePartitioner", shape);
  axis = normalize_axis(axis, shape.rank(), "MaxSizePartitioner");
  const std::int64_t bytes = row_bytes(shape, dtype, axis, options_.bytes_per_string);
  if (bytes == 0 || shape[axis] == 0) return along(shape, axis, 1);
  const std::int64_t rows = std::max<std::int64_t>(1, max_shard_bytes_ / bytes);
  const std::int64_t shards = (shape[axis] - 1) / rows + 1;
  return along(shape, axis, std::min(shards, options_.max_shards.value_or(shards)));
}

std::vector<std::int64_t> rows_per_shard(std::int64_t rows, std::int64_t shards) {
  shards = std::max<std::int64_t>(1, std::min(shards, rows));
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(shards), rows / shards);
  for (std::int64_t i = 0; i < rows % shards; ++i) ++sizes[static_cast<std::size_t>(i)];
  return sizes;
}

std::vector<std::int64_t> partition_sizes(const Partitioner& partitioner, const Shape& shape, DType dtype,
                                          std::string_view variable) {
  if (shape.empty()) return {1};
  if (!partitioner) return {shape[0]};
  const std::vector<std::int64_t> counts = partitioner(shape, dtype, 0);
  const auto refuse = [&](std::string_view expected, std::string_view fix) {
    const std::string who = "variable_partitioner" + (variable.empty() ? "" : " for '" + std::string(variable) + "'");
    return invalid_argument(who, expected, {{"partitions", text_of(counts)}, {"shape", shape}}, fix);
  };
  if (counts.size() != static_cast<std::size_t>(shape.rank()))
    throw refuse("must return one count per axis", "Return 1 for every axis but the first.");
  if (std::any_of(counts.begin(), counts.end(), [](std::int64_t count) { return count < 1; }))
    throw refuse("every count must be 1 or more", "Return 1 for an axis that is not cut.");
  if (std::any_of(counts.begin() + 1, counts.end(), [](std::int64_t count) { return count != 1; }))
    throw refuse("only axis 0 can be cut", "Return 1 for every axis but the first.");
  return rows_per_shard(shape[0], counts[0]);
}

}  // namespace cohort::distribute
