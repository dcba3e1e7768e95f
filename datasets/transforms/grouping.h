#pragma once

#include <memory>
#include <vector>

#include "cohort/datasets/transforms/stacking.h"
#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {

// Which elements are put together: group n begins with element n * shift and takes every stride-th from there.
struct Grouping {
  std::uint64_t size = 1, shift = 1, stride = 1;
  bool drop_remainder = false;

  // Elements from the first to the last of a group, both counted.
  std::uint64_t span() const { return (size - 1) * stride + 1; }
  // Whether an element may be in several groups.
  bool overlaps() const { return shift < span(); }
  // How many groups `elements` make; with drop_remainder whole ones alone.
  std::uint64_t groups_of(std::uint64_t elements) const;
};

// Base of stages that stack groups of their input's elements.
class GroupStage : public DatasetStage {
 public:
  GroupStage(const Dataset& input, const Grouping& grouping, Stacking stacking);
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override;
  std::unique_ptr<DatasetIterator> iterator() const override;
  // Groups that overlap read elements again and again, so that only elements that need no computing are read by number.
  bool is_indexed() const override { return is_indexed_; }
  std::unique_ptr<IndexedElements> indexed() const override;

 private:
  Dataset input_;
  Grouping grouping_;
  std::shared_ptr<const Stacking> stacking_;
  ElementSpec spec_;
  bool is_indexed_;
};

}  // namespace cohort::datasets
