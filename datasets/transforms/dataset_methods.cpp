#include "cohort/datasets/sources/saved.h"
#include "cohort/datasets/transforms/assert_cardinality.h"
#include "cohort/datasets/transforms/batch.h"
#include "cohort/datasets/transforms/bucket_by_sequence_length.h"
#include "cohort/datasets/transforms/cache.h"
#include "cohort/datasets/transforms/concatenate.h"
#include "cohort/datasets/transforms/enumerate.h"
#include "cohort/datasets/transforms/filter.h"
#include "cohort/datasets/transforms/flat_map.h"
#include "cohort/datasets/transforms/ignore_errors.h"
#include "cohort/datasets/transforms/interleave.h"
#include "cohort/datasets/transforms/map.h"
#include "cohort/datasets/transforms/padded_batch.h"
#include "cohort/datasets/transforms/prefetch.h"
#include "cohort/datasets/transforms/rebatch.h"
#include "cohort/datasets/transforms/repeat.h"
#include "cohort/datasets/transforms/scan.h"
#include "cohort/datasets/transforms/shard.h"
#include "cohort/datasets/transforms/shuffle.h"
#include "cohort/datasets/transforms/skip.h"
#include "cohort/datasets/transforms/take.h"
#include "cohort/datasets/transforms/take_while.h"
#include "cohort/datasets/transforms/unbatch.h"
#include "cohort/datasets/transforms/window.h"
#include "cohort/datasets/transforms/with_options.h"
#include "cohort/datasets/transforms/zip.h"

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
Dataset Dataset::cache(const std::string& file) const { return apply(datasets::cache(file)); }
void Dataset::save(const std::string& folder, std::int64_t num_shards) const {
  datasets::save(*this, folder, {.num_shards = num_shards});
}
Dataset Dataset::enumerate() const { return apply(datasets::enumerate()); }
Dataset Dataset::map(const ElementFunction& f, MapOptions options) const { return apply(datasets::map(f, options)); }
Dataset Dataset::map(const HostFunction& f, MapOptions options) const { return apply(datasets::map(f, options)); }
Dataset Dataset::flat_map(const DatasetFunction& f, FlatMapOptions options) const {
  return apply(datasets::flat_map(f, std::move(options)));
}
Dataset Dataset::interleave(const DatasetFunction& f, InterleaveOptions options) const {
  return apply(datasets::interleave(f, std::move(options)));
}
Dataset Dataset::filter(const ElementFunction& f) const { return apply(datasets::filter(f)); }
Dataset Dataset::take_while(const ElementFunction& f) const { return apply(datasets::take_while(f)); }
Dataset Dataset::concatenate(const Dataset& other) const { return apply(datasets::concatenate(other)); }
Dataset Dataset::zip(const std::vector<Dataset>& datasets) { return datasets::zip(datasets); }
Dataset Dataset::zip(const std::vector<std::pair<std::string, Dataset>>& datasets) { return datasets::zip(datasets); }
Dataset Dataset::unbatch() const { return apply(datasets::unbatch()); }
Dataset Dataset::rebatch(std::int64_t batch_size, BatchOptions options) const {
  return apply(datasets::rebatch(batch_size, options));
}
Dataset Dataset::rebatch(std::vector<std::int64_t> batch_sizes, BatchOptions options) const {
  return apply(datasets::rebatch(std::move(batch_sizes), options));
}
Dataset Dataset::padded_batch(std::int64_t batch_size, PaddedBatchOptions options) const {
  return apply(datasets::padded_batch(batch_size, std::move(options)));
}
Dataset Dataset::bucket_by_sequence_length(const ElementFunction& length, std::vector<std::int64_t> boundaries,
                                           std::vector<std::int64_t> batch_sizes, BucketOptions options) const {
  return apply(
      datasets::bucket_by_sequence_length(length, std::move(boundaries), std::move(batch_sizes), std::move(options)));
}
Dataset Dataset::window(std::int64_t size, WindowOptions options) const {
  return apply(datasets::window(size, options));
}
Dataset Dataset::scan(const Element& initial_state, const ScanFunction& f) const {
  return apply(datasets::scan(initial_state, f));
}
Dataset Dataset::with_options(DatasetOptions options) const { return apply(datasets::with_options(options)); }
Dataset Dataset::ignore_errors(IgnoreErrorsOptions options) const { return apply(datasets::ignore_errors(options)); }
Dataset Dataset::assert_cardinality(std::int64_t expected_cardinality) const {
  return apply(datasets::assert_cardinality(expected_cardinality));
}

}  // namespace cohort
