#include "cohort/data/indexed_elements.h"

#include <cstring>

#include "cohort/core/error.h"

namespace cohort {

const IndexedElements& IndexedElements::resolve(std::span<ElementPlace>) const { return *this; }

void write_row(const Tensor& leaf, const TensorSpec& spec, const RowMemory& rows, std::size_t row) {
  if (leaf.spec() != spec) {
    throw invalid_argument("Dataset.batch", "all elements of a batch must have the same shape",
                           {{"expected", spec}, {"received", leaf.spec()}},
                           "Pad or resize them in a map before the batch, or use padded_batch.");
  }
  if (rows.row_bytes > 0) std::memcpy(rows.first + row * rows.row_bytes, leaf.raw(), rows.row_bytes);
}

void IndexedElements::read_rows(std::span<const ElementPlace> places, std::span<const RowMemory> leaves,
                                const Specs& specs) const {
  Tensors element;
  for (std::size_t row = 0; row < places.size(); ++row) {
    read(places[row], element);
    for (std::size_t i = 0; i < leaves.size(); ++i) write_row(element[i], specs[i], leaves[i], row);
  }
}

}  // namespace cohort
