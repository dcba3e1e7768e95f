#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/attributes.h"
#include "cohort/data/dataset_function.h"
#include "cohort/data/dataset_range.h"
#include "cohort/data/distributed_input.h"
#include "cohort/data/element.h"
#include "cohort/data/element_function.h"
#include "cohort/data/host_function.h"
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
  // Keep the order; else results come as they are done, none lost or repeated.
  bool deterministic = true;
};

// What Dataset::padded_batch takes besides the size.
struct PaddedBatchOptions {
  // For each tensor of an element its shape in a batch, kUnknown where the longest element of the batch decides; none:
  // as element_spec() says. A longer element is an error.
  std::vector<Shape> padded_shapes = {};
  // For each tensor a scalar of its type, or an undefined tensor for 0, false and ""; one alone serves all.
  Tensors padding_values = {};
  // Leave a last batch out that is smaller than the others.
  bool drop_remainder = false;
};
// What Dataset::bucket_by_sequence_length takes besides lengths, boundaries and sizes.
struct BucketOptions {
  // For each tensor of an element its shape in a batch, kUnknown where the longest element of the batch decides; none:
  // as element_spec() says. A longer element is an error.
  std::vector<Shape> padded_shapes = {};
  // For each tensor a scalar of its type, or an undefined tensor for 0, false and ""; one alone serves all.
  Tensors padding_values = {};
  // Pad to the longest sequence that its bucket takes, and not to the longest of the batch; a sequence that belongs
  // beyond the last boundary is an error.
  bool pad_to_bucket_boundary = false;
  // Pad nothing: elements of a batch must have one shape.
  bool no_padding = false;
  // Leave batches out that are not full when the dataset ends.
  bool drop_remainder = false;
};
// What Dataset::window takes besides the size.
struct WindowOptions {
  // Elements from the start of one window to the start of the next; 0: the size, so that they do not overlap.
  std::int64_t shift = 0;
  // Elements from one of a window to its next.
  std::int64_t stride = 1;
  // Leave windows out that have fewer elements than the others.
  bool drop_remainder = false;
};
// What Dataset::ignore_errors takes.
struct IgnoreErrorsOptions {
  // Log what was wrong with each element that is left out.
  bool log_warning = false;
};
// What Dataset::scan takes: of the state and an element the next state and the result for the element.
using ScanFunction = std::function<std::pair<Element, Element>(const Element& state, const Element& element)>;

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
  // The same in a file, which outlives the process: the first whole pass writes it, later ones map it.
  //   file: its path; empty: in memory.
  Dataset cache(const std::string& file) const;
  // Pairs (number, element), counted from 0 as int64.
  Dataset enumerate() const;
  // The function's results for the elements. `f` is traced once on symbols of one element's tensors and travels as a
  // graph. Variables that it reads, such as those of an adapted Normalization, are read then: what they become later
  // changes nothing. It may use neither variables that are trained nor iterators.
  //   f: of the element, or of its tensors: map([](Tensor x, Tensor y) { return std::tuple(x / 255.0, y); }); or a
  //   layer.
  Dataset map(const ElementFunction& f, MapOptions options = {}) const;
  // The results of a registered C++ function for the elements.
  //   f: HostFunction::registered("name", result_spec).
  Dataset map(const HostFunction& f, MapOptions options = {}) const;
  // The elements of the datasets that a function makes of the elements, one dataset after the other.
  //   f: plain C++, of the element or of its tensors; DatasetFunction::registered("name") travels.
  Dataset flat_map(const DatasetFunction& f, FlatMapOptions options = {}) const;
  // The same with cycle_length datasets walked at a time, block_length elements of each in turn; one that has ended is
  // replaced in its place by the next.
  //   f: as flat_map's.
  Dataset interleave(const DatasetFunction& f, InterleaveOptions options = {}) const;
  // The elements for which the function holds.
  //   f: of the element or of its tensors, gives one bool; traced, as map's function is.
  Dataset filter(const ElementFunction& f) const;
  // The elements before the first one for which the function does not hold.
  //   f: of the element or of its tensors, gives one bool; traced, as map's function is.
  Dataset take_while(const ElementFunction& f) const;
  // The elements, then those of another dataset.
  //   other: its elements have the same structure, types and numbers of axes.
  Dataset concatenate(const Dataset& other) const;
  // Tuples of one element of each dataset; the shortest one ends them: Dataset::zip({images, labels}).
  //   datasets: at least one.
  static Dataset zip(const std::vector<Dataset>& datasets);
  // Dicts of one element of each dataset, by name: Dataset::zip({{"image", images}, {"label", labels}}).
  //   datasets: at least one; no name twice.
  static Dataset zip(const std::vector<std::pair<std::string, Dataset>>& datasets);
  // The rows of the elements, one after the other, as elements.
  Dataset unbatch() const;
  // The rows of the elements, whatever their number in each, in batches of one size.
  //   batch_size: rows of a batch; the last one may be smaller.
  Dataset rebatch(std::int64_t batch_size, BatchOptions options = {}) const;
  // The same rows in batches of several sizes, which take turns.
  //   batch_sizes: rows of each, 0 or more but not all 0.
  Dataset rebatch(std::vector<std::int64_t> batch_sizes, BatchOptions options = {}) const;
  // Batches of consecutive elements, padded at their ends to one shape and stacked along a new axis 0.
  //   batch_size: elements of a batch; the last one may be smaller.
  Dataset padded_batch(std::int64_t batch_size, PaddedBatchOptions options = {}) const;
  // Padded batches of elements of similar length, each given when it is full. Those that are not full when the dataset
  // ends come last, the shortest sequences first.
  //   length: of the element or of its tensors; gives one integer. Traced, as map's function is.
  //   boundaries: ascending; bucket i takes sequences shorter than boundary i and no shorter than the one before, a
  //     last one takes the rest.
  //   batch_sizes: elements of a batch of each bucket, one more than there are boundaries.
  Dataset bucket_by_sequence_length(const ElementFunction& length, std::vector<std::int64_t> boundaries,
                                    std::vector<std::int64_t> batch_sizes, BucketOptions options = {}) const;
  // Windows over consecutive elements, stacked along a new axis 0. Elements that several windows share are computed
  // once.
  //   size: elements of a window; the last ones may be smaller.
  Dataset window(std::int64_t size, WindowOptions options = {}) const;
  // Like map, with a state that goes from element to element and begins anew with every pass. An element that fails
  // leaves the state as it was. The state is part of saved positions.
  //   initial_state: tensors with values.
  //   f: traced, as map's function is; gives a state of the structure and types of the initial one.
  Dataset scan(const Element& initial_state, const ScanFunction& f) const;
  // The elements that can be computed; others are left out and counted. A source that cannot go on is still an error.
  Dataset ignore_errors(IgnoreErrorsOptions options = {}) const;
  // Says how many elements there are where the dataset cannot tell. Walking it throws when there are more or fewer.
  //   expected_cardinality: the number of elements, or kInfiniteCardinality.
  Dataset assert_cardinality(std::int64_t expected_cardinality) const;
  // The same elements, with options that travel with the dataset.
  //   options: those that are set; of several stages the last one's count.
  Dataset with_options(DatasetOptions options) const;
  // Any other transform: data.apply(datasets::enumerate()), or a function that makes one dataset of another.
  Dataset apply(const DatasetTransform& transform) const;

  // Walks the dataset once and writes its elements into a folder, which datasets::load reads.
  //   folder: its path; another folder than one that save wrote is not replaced.
  //   num_shards: files that the elements are dealt out to in turn.
  void save(const std::string& folder, std::int64_t num_shards = 1) const;

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
