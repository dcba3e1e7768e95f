#pragma once

#include <cstddef>
#include <iterator>
#include <memory>

#include "cohort/data/dataset.h"
#include "cohort/data/dataset_creator.h"
#include "cohort/distribute/strategies/per_replica.h"

namespace cohort::distribute {

// Batches for the replicas of this process, in a loop: for (const PerReplica& batch : dataset).
class DistributedDataset {
 public:
  // Of a dataset of batches, for so many replicas.
  //   one_batch_each: each replica takes the next batch; else all of them share one, rows as even as can be.
  DistributedDataset(Dataset dataset, int replicas, bool one_batch_each);

  // Walks the batches; copies share where they stand.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = PerReplica;
    using difference_type = std::ptrdiff_t;
    using pointer = const PerReplica*;
    using reference = const PerReplica&;

    Iterator(const DistributedDataset& dataset);
    const PerReplica& operator*() const;
    const PerReplica* operator->() const { return &**this; }
    Iterator& operator++();
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& iterator, std::default_sentinel_t) { return iterator.at_end(); }

   private:
    struct Walk;
    bool at_end() const;
    std::shared_ptr<Walk> walk_;
  };

  // The first batch; each loop begins anew.
  Iterator begin() const { return Iterator(*this); }
  // The end of every one.
  std::default_sentinel_t end() const { return {}; }
  // Batches of all replicas together; negative when unknown or infinite.
  std::int64_t cardinality() const;

 private:
  Dataset dataset_;
  int replicas_;
  bool one_batch_each_;
};

}  // namespace cohort::distribute
