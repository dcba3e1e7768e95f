#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cohort/core/op.h"
#include "cohort/core/tensor.h"
#include "cohort/data/iterator_state.h"

namespace cohort {

// Where an element stands among elements that can be reached by number.
struct ElementPlace {
  std::uint64_t pass = 0;      // how often the stage was rewound before
  std::uint64_t position = 0;  // in that pass, from 0
};

// What an element is known by: its number at the source, and the pass over the source. Random draws of map depend on it
// and on nothing else of the way here: not on shards, workers, threads or the order.
struct ElementKey {
  // How often the source was walked before.
  std::uint64_t pass = 0;
  // Its number at the source.
  std::uint64_t number = 0;
  friend bool operator==(const ElementKey&, const ElementKey&) = default;
};

// Memory for the rows of a batch, leaf by leaf.
struct RowMemory {
  char* first = nullptr;      // of the first row
  std::size_t row_bytes = 0;  // of one row
};

// Copies a leaf into its row; throws unless it has `spec`.
void write_row(const Tensor& leaf, const TensorSpec& spec, const RowMemory& rows, std::size_t row);

// The elements of a stage that can reach any of them without walking there. Stages that only choose and order elements
// then pass places, and what reads elements reads several at a time. Reads are thread-safe.
class IndexedElements {
 public:
  virtual ~IndexedElements() = default;

  // As a count: they never end.
  static constexpr std::uint64_t kEndless = UINT64_MAX;
  // Number of elements of a pass.
  virtual std::uint64_t count() const = 0;
  // Who holds or computes the elements at these places: these, or those that they choose from, whose places are then
  // written over the ones given.
  virtual const IndexedElements& resolve(std::span<ElementPlace> places) const;
  // Whether who reads an element may have to wait for something else than computing, such as a file: reader threads do
  // it then, and the compute pool's never.
  virtual bool blocks() const { return false; }

  // What follows is asked of what resolve() gave.

  // What the element is known by.
  virtual ElementKey key(ElementPlace place) const = 0;
  // Tensors of which the elements are the rows, leaf by leaf, numbered by position; nullptr when they come otherwise.
  virtual const Tensors* columns() const { return nullptr; }
  // Fills `element` with the leaves of an element, as DatasetIterator::next does.
  virtual void read(ElementPlace place, Tensors& element) const = 0;
  // Writes elements, one after the other, into rows of memory; throws unless each has `specs`, which are plain types
  // and known shapes.
  virtual void read_rows(std::span<const ElementPlace> places, std::span<const RowMemory> leaves,
                         const Specs& specs) const;
  // How many threads may read at a time; 0: as many as there are.
  virtual std::size_t parallel_reads() const { return 0; }

  // What decides about the order besides places: the seed of a shuffle; in the order of the stages.
  virtual void save_to(StateWriter&) const {}
  // The reverse.
  virtual void restore_from(StateReader&) {}
};

// Base of those that choose and order elements of others.
class IndexedSelection : public IndexedElements {
 public:
  explicit IndexedSelection(std::unique_ptr<IndexedElements> input) : input_(std::move(input)) {}

  // Whoever holds what it chooses from.
  const IndexedElements& resolve(std::span<ElementPlace> places) const final {
    to_input(places);
    return input_->resolve(places);
  }
  // Whether reading what it chooses does.
  bool blocks() const final { return input_->blocks(); }
  // What the element chosen is known by.
  ElementKey key(ElementPlace place) const final { return resolve({&place, 1}).key(place); }
  // Fills `element` with the one chosen.
  void read(ElementPlace place, Tensors& element) const final { resolve({&place, 1}).read(place, element); }
  // What the input's order depends on.
  void save_to(StateWriter& state) const override { input_->save_to(state); }
  // The reverse.
  void restore_from(StateReader& state) override { input_->restore_from(state); }

 protected:
  // Writes the input's places over its own.
  virtual void to_input(std::span<ElementPlace> places) const = 0;

  std::unique_ptr<IndexedElements> input_;
};

}  // namespace cohort
