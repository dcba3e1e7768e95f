#pragma once

#include <memory>

#include "cohort/data/indexed_elements.h"
#include "cohort/data/iterator.h"

namespace cohort {

// Walks elements that can be reached by number: its position is a pass and a number.
class IndexedIterator : public DatasetIterator {
 public:
  explicit IndexedIterator(std::unique_ptr<IndexedElements> elements) : elements_(std::move(elements)) {}

  bool next(Tensors& element) override;
  void rewind() override;
  std::uint64_t skip(std::uint64_t count) override;
  std::optional<ElementKey> key() const override;
  void save_to(StateWriter& state) const override;
  void restore_from(StateReader& state) override;
  const IndexedElements* indexed() const override { return elements_.get(); }
  std::size_t next_places(std::span<ElementPlace> places) override;

 private:
  std::uint64_t left() const { return elements_->count() - at_.position; }

  std::unique_ptr<IndexedElements> elements_;
  ElementPlace at_;
};

}  // namespace cohort
