#include "cohort/distribute/strategies/distributed_dataset.h"

#include <algorithm>

#include "cohort/distribute/collective/batch_rows.h"

namespace cohort::distribute {

DistributedDataset::DistributedDataset(Dataset dataset, int replicas, bool one_batch_each)
    : dataset_(std::move(dataset)), replicas_(replicas), one_batch_each_(one_batch_each) {}

std::int64_t DistributedDataset::cardinality() const {
  const std::int64_t batches = dataset_.cardinality();
  const std::int64_t each = one_batch_each_ ? replicas_ : 1;
  return batches < 0 ? batches : (batches + each - 1) / each;
}

struct DistributedDataset::Iterator::Walk {
  explicit Walk(const DistributedDataset& dataset)
      : of(dataset), iterator(of.dataset_.make_iterator()), current(std::vector<Element>{}) {
    advance();
  }

  void advance() {
    Tensors leaves;
    if (!iterator->next(leaves)) {
      ended = true;
      return;
    }
    current = of.one_batch_each_ ? batch_each(std::move(leaves)) : divided(leaves);
  }

  // A replica for which no row is left sees the first one, which does not count.
  PerReplica divided(const Tensors& batch) const {
    std::vector<Element> parts;
    std::vector<std::int64_t> rows;
    std::int64_t first = 0;
    for (int replica = 0; replica < of.replicas_; ++replica) {
      const std::int64_t own = rows_of_replica(rows_of_batch(batch), of.replicas_, replica);
      rows.push_back(own);
      Tensors part;
      for (const Tensor& leaf : batch) {
        const bool has_rows = leaf.rank() > 0;
        part.push_back(has_rows ? leaf.rows(own > 0 ? first : 0, std::max(own, std::int64_t{1})).clone() : leaf);
      }
      parts.push_back(of.dataset_.element_spec().with_leaves(part));
      first += own;
    }
    return PerReplica(std::move(parts), std::move(rows));
  }

  PerReplica batch_each(Tensors batch) {
    std::vector<Element> parts;
    std::vector<std::int64_t> rows;
    bool there = true;
    for (int replica = 0; replica < of.replicas_; ++replica) {
      Tensors next;
      if (replica > 0 && there) there = iterator->next(next);
      const Tensors& own = replica == 0 || !there ? batch : next;
      rows.push_back(there ? rows_of_batch(own) : 0);
      parts.push_back(of.dataset_.element_spec().with_leaves(own));
    }
    return PerReplica(std::move(parts), std::move(rows));
  }

  const DistributedDataset of;
  std::unique_ptr<DatasetIterator> iterator;
  PerReplica current;
  bool ended = false;
};

DistributedDataset::Iterator::Iterator(const DistributedDataset& dataset) : walk_(std::make_shared<Walk>(dataset)) {}
const PerReplica& DistributedDataset::Iterator::operator*() const { return walk_->current; }
DistributedDataset::Iterator& DistributedDataset::Iterator::operator++() {
  walk_->advance();
  return *this;
}
bool DistributedDataset::Iterator::at_end() const { return walk_->ended; }

}  // namespace cohort::distribute
