#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "cohort/core/dtype.h"
#include "cohort/core/shape.h"

namespace cohort::distribute {

// Into how many parts a variable is cut along each axis; only axis 0 may have more than one.
using Partitioner = std::function<std::vector<std::int64_t>(const Shape& shape, DType dtype, int axis)>;

// A fixed number of shards, never more than rows. For this and the next two, a variable without rows is one shard.
class FixedShardsPartitioner {
 public:
  // Of this many shards, at least 1.
  explicit FixedShardsPartitioner(std::int64_t num_shards);
  // Parts along each axis of a variable of this shape and type.
  std::vector<std::int64_t> operator()(const Shape& shape, DType dtype, int axis = 0) const;

 private:
  std::int64_t num_shards_;
};

// What a MinSizePartitioner takes.
struct MinSizePartitionerOptions {
  // Bytes each shard has at least.
  std::int64_t min_shard_bytes = 256 << 10;
  // Most shards of a variable.
  std::int64_t max_shards = 1;
  // What a string counts for.
  std::int64_t bytes_per_string = 16;
};
// As many shards as keep each, the smallest too, at or above a size; at most max_shards.
class MinSizePartitioner {
 public:
  // With these bounds.
  explicit MinSizePartitioner(MinSizePartitionerOptions options = {});
  // Parts along each axis of a variable of this shape and type.
  std::vector<std::int64_t> operator()(const Shape& shape, DType dtype, int axis = 0) const;

 private:
  MinSizePartitionerOptions options_;
};

// What a MaxSizePartitioner takes besides the size.
struct MaxSizePartitionerOptions {
  // Most shards of a variable; none: no limit.
  std::optional<std::int64_t> max_shards = std::nullopt;
  // What a string counts for.
  std::int64_t bytes_per_string = 16;
};
// As few shards as keep each at or below a size (a row is never cut); at most max_shards.
class MaxSizePartitioner {
 public:
  // With shards of at most max_shard_bytes.
  explicit MaxSizePartitioner(std::int64_t max_shard_bytes, MaxSizePartitionerOptions options = {});
  // Parts along each axis of a variable of this shape and type.
  std::vector<std::int64_t> operator()(const Shape& shape, DType dtype, int axis = 0) const;

 private:
  std::int64_t max_shard_bytes_;
  MaxSizePartitionerOptions options_;
};

// Rows of each of `shards` shards of consecutive rows, never more shards than rows: the first rows % shards have one
// more. 13 over 5: 3, 3, 3, 2, 2.
std::vector<std::int64_t> rows_per_shard(std::int64_t rows, std::int64_t shards);

// Rows per shard of a variable, a single entry where it stays whole: without a partitioner, and for scalars, whose one
// value counts as a row. Throws InvalidArgument, naming the variable, when the partitioner splits another axis than 0
// or does not return one count per axis.
std::vector<std::int64_t> partition_sizes(const Partitioner& partitioner, const Shape& shape, DType dtype,
                                          std::string_view variable = {});

}  // namespace cohort::distribute
