#pragma once

#include <cstddef>
#include <iterator>
#include <memory>

#include "cohort/data/iterator.h"

namespace cohort {

class Dataset;

// Walks the elements of a dataset in a loop: for (const Element& element : dataset). An input iterator: copies share
// where they stand.
class ElementIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Element;
  using difference_type = std::ptrdiff_t;
  using pointer = const Element*;
  using reference = const Element&;

  // One that is at the end.
  ElementIterator() = default;
  // Around what walks a dataset; reads the first element.
  //   spec: structure of the elements.
  ElementIterator(std::unique_ptr<DatasetIterator> iterator, ElementSpec spec);

  // The element where it stands.
  const Element& operator*() const;
  const Element* operator->() const { return &**this; }
  // Goes to the next element.
  ElementIterator& operator++();
  void operator++(int) { ++*this; }
  // Whether it is at the end.
  friend bool operator==(const ElementIterator& iterator, std::default_sentinel_t) { return iterator.at_end(); }

 private:
  struct Walk;
  bool at_end() const;

  std::shared_ptr<Walk> walk_;
};

// The first element of a dataset, for loops; each loop is a walk of its own from the first element on.
ElementIterator begin(const Dataset& dataset);
// The end of every dataset.
inline std::default_sentinel_t end(const Dataset&) { return {}; }

}  // namespace cohort
