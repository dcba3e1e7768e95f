#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "cohort/data/indexed_elements.h"

namespace cohort {

// An iterator that writes several of its elements at a time straight into the rows of a batch. What batch looks for
// where elements cannot be reached by number; their types and shapes are the stage's, all known.
class RowStream {
 public:
  virtual ~RowStream() = default;

  // What next_rows() has written.
  struct Rows {
    // How many: fewer than asked only at the end.
    std::size_t count = 0;
    // What the first of them is known by.
    std::optional<ElementKey> first;
  };
  // Writes the next elements into rows of memory; a row of a tensor of strings consists of std::string objects. When
  // one of the elements fails, the iterator then stands behind all `count`, and the error of the first is thrown.
  virtual Rows next_rows(std::span<const RowMemory> leaves, std::size_t count) = 0;
};

}  // namespace cohort
