#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "cohort/data/element.h"
#include "cohort/graph/function.h"

namespace cohort {

// What walks a dataset. Not thread-safe: one consumer at a time. Steady state allocates nothing: `element` keeps its
// capacity and tensors come from pools.
class DatasetIterator {
 public:
  virtual ~DatasetIterator() = default;
  // Fills `element` with the next element's leaves, flattened; false at the end.
  virtual bool next(Tensors& element) = 0;
  // Where it stands, as bytes that restore() understands on an iterator of the same dataset. Exact: the next element
  // after restore is the one that would have come next, whatever was prefetched or shuffled.
  virtual std::string save() const = 0;
  virtual void restore(std::string_view state) = 0;
};

// A handle to an iterator that can be handed to a traced function: `next` inside a trace becomes a node, outside it
// gives the next element. Made by Dataset::iterator().
class Iterator {
 public:
  Iterator() = default;
  Iterator(std::unique_ptr<DatasetIterator> iterator, ElementSpec spec);
  // Around the resource tensor of an iterator, concrete or symbolic (an argument of a trace).
  explicit Iterator(Tensor handle);

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
  const Tensor& handle() const { return handle_; }
  // The walker itself, for runners; only outside traces.
  DatasetIterator& walker() const;

 private:
  Tensors next_leaves(std::size_t expected) const;
  Tensor handle_;
};

template <>
struct FunctionArgument<Iterator> {
  static const Tensor& to_tensor(const Iterator& iterator) { return iterator.handle(); }
  static Iterator from_tensor(const Tensor& tensor) { return Iterator(tensor); }
};

}  // namespace cohort
