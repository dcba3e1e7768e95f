#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// What elements of either kind have in common, axes of different sizes being unknown; none where structures, types or
// numbers of axes differ.
std::optional<ElementSpec> common_spec(const ElementSpec& first, const ElementSpec& second);

// Whether the elements of all of them can be reached by number.
bool all_indexed(const std::vector<Dataset>& inputs);
// The elements of each by number; only where all_indexed().
std::vector<std::unique_ptr<IndexedElements>> indexed_parts(const std::vector<Dataset>& inputs);
// A new iterator of each.
std::vector<std::unique_ptr<DatasetIterator>> iterators_of(const std::vector<Dataset>& inputs);

// Base of iterators over several inputs, which begin their passes together.
class JoinedIterator : public DatasetIterator {
 public:
  explicit JoinedIterator(std::vector<std::unique_ptr<DatasetIterator>> inputs) : inputs_(std::move(inputs)) {}

  void rewind() override;
  void save_to(StateWriter& state) const override;
  void restore_from(StateReader& state) override;

 protected:
  std::vector<std::unique_ptr<DatasetIterator>> inputs_;
};

// Base of elements by number that are made of those of several inputs. It reads them itself, because places of
// different inputs have no one holder.
class JoinedElements : public IndexedElements {
 public:
  explicit JoinedElements(std::vector<std::unique_ptr<IndexedElements>> parts) : parts_(std::move(parts)) {}

  bool blocks() const override;
  std::size_t parallel_reads() const override;
  void save_to(StateWriter& state) const override;
  void restore_from(StateReader& state) override;

 protected:
  // What an element of one input is known by there.
  static ElementKey key_in(const IndexedElements& part, ElementPlace place);
  // IndexedElements::read of one input.
  static void read_from(const IndexedElements& part, ElementPlace place, Tensors& element);
  // IndexedElements::read_rows of one input, in memory of which only a part is meant.
  //   first: what is taken off the positions.
  //   row: where in the memory the first element goes.
  static void read_rows_from(const IndexedElements& part, std::uint64_t first, std::span<const ElementPlace> places,
                             std::span<const RowMemory> leaves, std::size_t row, const Specs& specs);

  std::vector<std::unique_ptr<IndexedElements>> parts_;
};

}  // namespace cohort::datasets
