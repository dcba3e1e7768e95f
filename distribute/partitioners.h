#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cohort/core/dtype.h"
#include "cohort/core/shape.h"

namespace cohort::distribute {

// Into how many parts a variable is cut along each axis; only axis 0 may have more than one.
using Partitioner = std::function<std::vector<std::int64_t>(const Shape& shape, DType dtype, int axis)>;

// A fixed number of shards, never more than rows.
class FixedShardsPartitioner {
 public:
  explicit FixedShardsPartitioner(std::int64_t num_shards);
  std::vector<std::int64_t> operator()(const Shape& shape, DType dtype, int axis = 0) const;

 private:
  std::int64_t num_shards_;
};

struct MinSizePartitionerOptions {
  std::int64_t min_shard_bytes = 256 << 10;
  std::int64_t max_shards = 1;
  std::int64_t bytes_per_string = 16;
};
// As many shards as keep each above a size, at most max_shards.
class MinSizePartitioner {
 public:
  explicit MinSizePartitioner(MinSizePartitionerOptions options = {});
  std::vector<std::int64_t> operator()(const Shape& shape, DType dtype, int axis = 0) const;

 private:
  MinSizePartitionerOptions options_;
};

struct MaxSizePartitionerOptions {
  std::optional<std::int64_t> max_shards = std::nullopt;
  std::int64_t bytes_per_string = 16;
};
// As few shards as keep each below a size.
class MaxSizePartitioner {
 public:
  explicit MaxSizePartitioner(std::int64_t max_shard_bytes, MaxSizePartitionerOptions options = {});
  std::vector<std::int64_t> operator()(const Shape& shape, DType dtype, int axis = 0) const;

 private:
  std::int64_t max_shard_bytes_;
  MaxSizePartitionerOptions options_;
};

}  // namespace cohort::distribute
