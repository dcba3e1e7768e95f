#pragma once

#include "cohort/datasets/sources/rows.h"
#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {

// Base of iterators that choose and order elements without touching them. Self writes once
//   template <class Item> std::size_t pull(std::span<Item> items)
// which fills `items` from from_input, returning fewer only at the end; it serves whole elements and row numbers.
template <class Self>
class Selection : public TransformIterator {
 public:
  using TransformIterator::TransformIterator;

  const Tensors* columns() const final { return input_->columns(); }
  std::size_t next_rows(std::span<std::int64_t> rows) final { return static_cast<Self*>(this)->pull(rows); }
  bool next(Tensors& element) final {
    const Tensors* whole = columns();
    if (!whole) return static_cast<Self*>(this)->pull(std::span<Tensors>(&element, 1)) == 1;
    std::int64_t row = 0;
    if (next_rows({&row, 1}) == 0) return false;
    row_of(*whole, row, element);
    return true;
  }

 protected:
  std::size_t from_input(std::span<std::int64_t> rows) { return input_->next_rows(rows); }
  std::size_t from_input(std::span<Tensors> elements) {
    std::size_t got = 0;
    while (got < elements.size() && input_->next(elements[got])) ++got;
    return got;
  }
};

}  // namespace cohort::datasets
