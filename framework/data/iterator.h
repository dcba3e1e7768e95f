#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cohort/core/resource.h"
#include "cohort/data/element.h"
#include "cohort/data/indexed_elements.h"
#include "cohort/data/iterator_state.h"
#include "cohort/data/stage_stats.h"
#include "cohort/graph/function.h"

namespace cohort {

// What walks a dataset. Not thread-safe: one consumer at a time.
class DatasetIterator {
 public:
  virtual ~DatasetIterator() = default;
  // Fills `element` with the next element's leaves, flattened, on the host; false at the end, and again when asked
  // again. Tensors in `element` that nobody else has are used again for it, so that a steady state allocates nothing.
  virtual bool next(Tensors& element) = 0;
  // Starts over from the first element, as the next epoch: shuffles that reshuffle take another order.
  virtual void rewind() = 0;
  // Where it stands, as bytes that restore() understands on an iterator of the same dataset, in any process. Exact: the
  // next element after restore is the one that would have come next, whatever was prefetched or shuffled. The state of
  // another dataset throws, and leaves the iterator at no particular element.
  std::string save() const;
  // Goes to where save() said.
  void restore(std::string_view state);

  // save() for the stages of a chain: each writes its fields, then lets its input write.
  virtual void save_to(StateWriter& state) const = 0;
  // restore() for the stages of a chain, in the same order.
  virtual void restore_from(StateReader& state) = 0;

  // Goes past the next `count` elements; how many there were. Computes none that it need not; one that cannot be
  // computed counts like any other.
  virtual std::uint64_t skip(std::uint64_t count);
  // What the element that next() gave last is known by; none where the dataset does not say.
  virtual std::optional<ElementKey> key() const { return std::nullopt; }

  // The elements that it walks by number; nullptr when only next() gives them. Stages that choose and order elements
  // then pass places, and batch reads its rows straight from these.
  virtual const IndexedElements* indexed() const { return nullptr; }
  // Instead of next, where elements are indexed: fills `places` with the next ones; how many, fewer than asked only at
  // the end.
  virtual std::size_t next_places(std::span<ElementPlace> places);

  // What each stage of the chain has done so far, the last one first. From any thread, as long as the iterator lives.
  DatasetStats stats() const;
  // The same for the stages of a chain: appends what is known of it and its inputs.
  virtual void collect_stats(DatasetStats&) const {}
  // What walks the dataset, without what measures it.
  virtual const DatasetIterator& unmeasured() const { return *this; }

 private:
  friend class Dataset;
  std::uint64_t fingerprint_ = 0;  // of the dataset that it walks; 0 for an iterator inside another
};

// The resource behind an Iterator handle.
class IteratorResource : public Resource {
 public:
  IteratorResource(std::unique_ptr<DatasetIterator> iterator, ElementSpec spec);
  const char* kind() const override { return "Iterator"; }
  // What walks the dataset.
  DatasetIterator& dataset_iterator() { return *iterator_; }
  // Structure, types and shapes of the elements.
  const ElementSpec& element_spec() const { return spec_; }
  // The next element's leaves, in memory kept for the next call; at the end throws OutOfRange.
  const Tensors& next_element() override;
  std::string signature() const override { return to_string(spec_); }

 private:
  std::unique_ptr<DatasetIterator> iterator_;
  ElementSpec spec_;
  Tensors element_;
};

// A handle to an iterator that can be handed to a traced function: `next` inside a trace becomes a node, outside it
// gives the next element. Made by Dataset::iterator().
class Iterator {
 public:
  // An undefined iterator.
  Iterator() = default;
  // Around what walks a dataset.
  Iterator(std::unique_ptr<DatasetIterator> iterator, ElementSpec spec);
  // Around the resource tensor of an iterator, concrete or symbolic (an argument of a trace).
  explicit Iterator(Tensor handle);

  // Structure, types and shapes of the elements.
  const ElementSpec& element_spec() const;
  // The next element; at the end throws OutOfRange.
  Element next() const;
  // The next element, a tuple of exactly N tensors: auto [x, y] = data.next<2>().
  template <std::size_t N>
  std::array<Tensor, N> next() const {
    const Tensors leaves = next_leaves(N);
    std::array<Tensor, N> result;
    for (std::size_t i = 0; i < N; ++i) result[i] = leaves[i];
    return result;
  }
  // What each stage of the dataset has done so far, the last one first; to_string() makes a table of it.
  DatasetStats stats() const;
  // The resource tensor that stands for it in graphs.
  const Tensor& handle() const { return handle_; }
  // What is behind the handle, for runners; only outside traces.
  DatasetIterator& dataset_iterator() const;

 private:
  IteratorResource& resource() const;
  Tensors next_leaves() const;
  Tensors next_leaves(std::size_t expected) const;
  Tensor handle_;
};

// Iterators are arguments of a Function as their resource tensors.
template <>
struct FunctionArgument<Iterator> {
  // The resource tensor an iterator becomes.
  static const Tensor& to_tensor(const Iterator& iterator) { return iterator.handle(); }
  // The iterator a resource tensor stands for.
  static Iterator from_tensor(const Tensor& tensor) { return Iterator(tensor); }
};

}  // namespace cohort
