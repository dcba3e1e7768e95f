#pragma once

#include <exception>
#include <utility>

#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {

// An element on its way through stages that only choose and order.
struct StreamedElement {
  Tensors leaves;
  std::optional<ElementKey> key;
  std::exception_ptr error;  // in its place, where it could not be computed
};

// Base of iterators that choose and order elements without touching them. Self writes once
//   template <class Item> std::size_t pull(std::span<Item> items)
// which fills `items` from from_input, returning fewer only at the end; it serves whole elements and places.
template <class Self>
class Selection : public TransformIterator {
 public:
  using TransformIterator::TransformIterator;

  const IndexedElements* indexed() const override { return input_->indexed(); }
  std::size_t next_places(std::span<ElementPlace> places) final {
    const std::size_t got = static_cast<Self*>(this)->pull(places);
    if (got > 0) last_ = places[got - 1];
    return got;
  }
  bool next(Tensors& element) final {
    if (const IndexedElements* elements = indexed()) {
      if (next_places({&last_, 1}) == 0) return false;
      ElementPlace place = last_;
      elements->resolve({&place, 1}).read(place, element);
      return true;
    }
    item_.leaves.swap(element);
    const std::size_t got = static_cast<Self*>(this)->pull(std::span<StreamedElement>(&item_, 1));
    item_.leaves.swap(element);
    if (item_.error) std::rethrow_exception(std::exchange(item_.error, nullptr));
    return got == 1;
  }
  std::optional<ElementKey> key() const final {
    const IndexedElements* elements = indexed();
    if (!elements) return item_.key;
    ElementPlace place = last_;
    return elements->resolve({&place, 1}).key(place);
  }

 protected:
  std::size_t from_input(std::span<ElementPlace> places) { return input_->next_places(places); }
  std::size_t from_input(std::span<StreamedElement> elements) {
    std::size_t got = 0;
    for (; got < elements.size() && input_->next(elements[got].leaves); ++got) elements[got].key = input_->key();
    return got;
  }

 private:
  ElementPlace last_;
  StreamedElement item_;
};

}  // namespace cohort::datasets
