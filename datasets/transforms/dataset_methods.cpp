#include "cohort/datasets/transforms/batch.h"
#include "cohort/datasets/transforms/cache.h"
#include "cohort/datasets/transforms/enumerate.h"
#include "cohort/datasets/transforms/map.h"
#include "cohort/datasets/transforms/prefetch.h"
#include "cohort/datasets/transforms/repeat.h"
#include "cohort/datasets/transforms/shard.h"
#include "cohort/datasets/transforms/shuffle.h"
#include "cohort/datasets/transforms/skip.h"
#include "cohort/datasets/transforms/take.h"

// The methods of Dataset are defined here and not beside it: framework/data knows none of the transforms.
namespace cohort {

Dataset Dataset::shuffle(std::int64_t buffer_size, ShuffleOptions options) const {
  return apply(datasets::shuffle(buffer_size, options));
}
Dataset Dataset::batch(std::int64_t batch_size, BatchOptions options) const {
  return apply(datasets::batch(batch_size, options));
}
Dataset Dataset::repeat(std::int64_t count) const { return apply(datasets::repeat(count)); }
Dataset Dataset::take(std::int64_t count) const { return apply(datasets::take(count)); }
Dataset Dataset::skip(std::int64_t count) const { return apply(datasets::skip(count)); }
Dataset Dataset::shard(std::int64_t num_shards, std::int64_t index) const {
  return apply(datasets::shard(num_shards, index));
}
Dataset Dataset::prefetch(std::int64_t buffer_size) const { return apply(datasets::prefetch(buffer_size)); }
Dataset Dataset::cache() const { return apply(datasets::cache()); }
Dataset Dataset::enumerate() const { return apply(datasets::enumerate()); }
Dataset Dataset::map(const ElementFunction& f, MapOptions options) const { return apply(datasets::map(f, options)); }

}  // namespace cohort
