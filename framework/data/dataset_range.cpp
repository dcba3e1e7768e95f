#include "cohort/data/dataset_range.h"

#include "cohort/core/error.h"
#include "cohort/data/dataset.h"

namespace cohort {

struct ElementIterator::Walk {
  std::unique_ptr<DatasetIterator> iterator;
  ElementSpec spec;
  Tensors leaves = {};
  Element element = {};
  bool ended = false;

  void next() {
    // Before the next one is written: memory that the loop has not kept is used again.
    element = Element();
    ended = !iterator->next(leaves);
    if (!ended) element = spec.with_leaves(leaves);
  }
};

ElementIterator::ElementIterator(std::unique_ptr<DatasetIterator> iterator, ElementSpec spec)
    : walk_(std::make_shared<Walk>(Walk{std::move(iterator), std::move(spec)})) {
  walk_->next();
}

bool ElementIterator::at_end() const { return !walk_ || walk_->ended; }

const Element& ElementIterator::operator*() const {
  if (at_end())
    throw Error(ErrorCode::OutOfRange, "ElementIterator", "an element is expected, but the dataset has ended");
  return walk_->element;
}

ElementIterator& ElementIterator::operator++() {
  if (at_end())
    throw Error(ErrorCode::OutOfRange, "ElementIterator", "an element is expected, but the dataset has ended");
  walk_->next();
  return *this;
}

ElementIterator begin(const Dataset& dataset) {
  return ElementIterator(dataset.make_iterator(), dataset.element_spec());
}

}  // namespace cohort
