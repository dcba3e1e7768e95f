#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/attributes.h"
#include "cohort/data/element.h"
#include "cohort/data/element_function.h"
#include "cohort/data/indexed_elements.h"
#include "cohort/data/iterator.h"
#include "cohort/graph/graph.h"

namespace cohort {

// As a cardinality: the dataset never ends.
inline constexpr std::int64_t kInfiniteCardinality = -1;
// As a cardinality: only walking the dataset tells.
inline constexpr std::int64_t kUnknownCardinality = -2;
// As a number of parallel calls or prefetched elements: the framework chooses.
inline constexpr std::int64_t kAutotune = -1;

// One stage of a dataset: a source, or a transform of other datasets. Thread-safe; its iterators may outlive it.
class DatasetStage {
 public:
  virtual ~DatasetStage() = default;
  // Structure, types and shapes of its elements.
  virtual const ElementSpec& element_spec() const = 0;
  // Number of elements, kInfiniteCardinality or kUnknownCardinality.
  virtual std::int64_t cardinality() const = 0;
  // A new iterator before the first element.
  virtual std::unique_ptr<DatasetIterator> iterator() const = 0;
  // Whether any element can be reached by its number.
  virtual bool is_indexed() const { return false; }
  // Its elements by number, for one iterator; only where is_indexed().
  virtual std::unique_ptr<IndexedElements> indexed() const;
};

// What Dataset::shuffle takes besides the buffer's size.
struct ShuffleOptions {
  std::optional<std::int64_t> seed = std::nullopt;
  // Take another order in every epoch.
  bool reshuffle_each_iteration = true;
};
// What Dataset::batch takes besides the size.
struct BatchOptions {
  // Leave a last batch out that is smaller than the others.
  bool drop_remainder = false;
};
// What Dataset::map takes besides the function.
struct MapOptions {
  // Elements computed at a time, up to 1024; kAutotune: as many as the pool has threads; 0: one, on the thread that
  // asks.
  std::int64_t num_parallel_calls = 0;
  // Accepted for TensorFlow's signature: the order is kept either way.
  bool deterministic = true;
};

class Dataset;
// What makes one dataset of another, for Dataset::apply: what datasets/transforms/ has, or any function like it.
using DatasetTransform = std::function<Dataset(const Dataset&)>;

// A lazy, serialisable chain of stages. A stage is a registered kind with attributes and inputs: plain data, like a
// graph's node, so that a chain can be sent to another process. What implements the kinds is in datasets/.
class Dataset {
 public:
  // An undefined dataset.
  Dataset() = default;
  // Makes a stage by its registered kind.
  static Dataset make(std::string kind, std::vector<Dataset> inputs, Attributes attributes);

  // The elements in random order: each is drawn from a buffer of the next ones.
  //   buffer_size: elements in the buffer, at least 1; the number of elements for a full shuffle.
  Dataset shuffle(std::int64_t buffer_size, ShuffleOptions options = {}) const;
  // Batches of consecutive elements, stacked along a new axis 0.
  //   batch_size: elements of a batch; the last one may be smaller.
  Dataset batch(std::int64_t batch_size, BatchOptions options = {}) const;
  // The elements again and again.
  //   count: how often; -1: without end.
  Dataset repeat(std::int64_t count = -1) const;
  // The first elements alone.
  //   count: how many; -1: all.
  Dataset take(std::int64_t count) const;
  // The elements without the first ones.
  //   count: how many are left out; -1: all.
  Dataset skip(std::int64_t count) const;
  // Every num_shards-th element, from number `index` on.
  //   num_shards: parts the dataset is divided into.
  //   index: which of them, in [0, num_shards).
  Dataset shard(std::int64_t num_shards, std::int64_t index) const;
  // Computes elements ahead of time, on a thread of its own.
  //   buffer_size: elements kept ready; kAutotune: the framework chooses.
  Dataset prefetch(std::int64_t buffer_size) const;
  // Keeps the elements of the first pass in memory for the later ones.
  Dataset cache() const;
  // Pairs (number, element), counted from 0 as int64.
  Dataset enumerate() const;
  // The function's results for the elements. `f` is traced once on symbols of one element's tensors and travels as a
  // graph; it may use neither variables nor iterators.
  //   f: of the element, or of its tensors: map([](Tensor x, Tensor y) { return std::tuple(x / 255.0, y); }).
  Dataset map(const ElementFunction& f, MapOptions options = {}) const;
  // Any other transform: data.apply(datasets::enumerate()), or a function that makes one dataset of another.
  Dataset apply(const DatasetTransform& transform) const;

  // True for one that has a stage.
  bool defined() const { return static_cast<bool>(node_); }
  // Structure, types and shapes of its elements.
  const ElementSpec& element_spec() const;
  // Number of elements, kInfiniteCardinality or kUnknownCardinality.
  std::int64_t cardinality() const;
  // A new iterator before the first element.
  Iterator iterator() const;
  // The same without a handle, for runners and other stages.
  std::unique_ptr<DatasetIterator> make_iterator() const;

  // The registered kind of its last stage.
  const std::string& kind() const;
  // What its last stage transforms.
  const std::vector<Dataset>& inputs() const;
  // The arguments of its last stage.
  const Attributes& attributes() const;
  // Its last stage; throws for an undefined dataset.
  const DatasetStage& stage() const;
  // A number that chains of the same stages, attributes and files share, in any process, whatever their seeds, buffers
  // and parallelism: saved positions begin with it.
  std::uint64_t fingerprint() const;

 private:
  struct Node;
  std::shared_ptr<const Node> node_;
};

// Implementations register a maker for their kind.
using DatasetMaker = std::function<std::shared_ptr<const DatasetStage>(const std::vector<Dataset>& inputs,
                                                                       const Attributes& attributes)>;
// Makes a kind of stage known; true, so that it can initialize a static variable.
bool register_dataset(const std::string& kind, DatasetMaker maker);
#define COHORT_DATASET(kind, maker)                                                \
  [[maybe_unused]] static const bool COHORT_CONCAT(cohort_dataset_, __COUNTER__) = \
      ::cohort::register_dataset(kind, maker)

// The chain as bytes (tensors included) and back.
std::string serialize(const Dataset& dataset);
// The chain from its bytes.
Dataset parse_dataset(std::string_view bytes);
// The same as serialize() with its tensors beside it, so that large ones travel once and without a limit.
std::string serialize(const Dataset& dataset, ConstantTable& constants);
// The chain from its bytes and the tensors beside them.
Dataset parse_dataset(std::string_view bytes, const ConstantTable& constants);

}  // namespace cohort
