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
#include "cohort/data/iterator.h"
#include "cohort/graph/graph.h"

namespace cohort {

inline constexpr std::int64_t kInfiniteCardinality = -1;
inline constexpr std::int64_t kUnknownCardinality = -2;
// As a number of parallel calls or prefetched elements: the framework chooses.
inline constexpr std::int64_t kAutotune = -1;

// One stage of a dataset: a source, or a transform of other datasets. Thread-safe; its iterators may outlive it.
class DatasetStage {
 public:
  virtual ~DatasetStage() = default;
  virtual const ElementSpec& element_spec() const = 0;
  virtual std::int64_t cardinality() const = 0;
  virtual std::unique_ptr<DatasetIterator> iterator() const = 0;
};

struct ShuffleOptions {
  std::optional<std::int64_t> seed = std::nullopt;
  bool reshuffle_each_iteration = true;
};
struct BatchOptions {
  bool drop_remainder = false;
};
struct MapOptions {
  std::int64_t num_parallel_calls = 0;  // 0: on the thread that asks
  bool deterministic = true;            // order is kept either way
};

// A lazy, serialisable chain of stages. A stage is a registered kind with attributes and inputs: plain data, like a
// graph's node, so that a chain can be sent to another process. What implements the kinds is in datasets/.
class Dataset {
 public:
  Dataset() = default;
  // Makes a stage by its registered kind.
  static Dataset make(std::string kind, std::vector<Dataset> inputs, Attributes attributes);

  Dataset shuffle(std::int64_t buffer_size, ShuffleOptions options = {}) const;
  Dataset batch(std::int64_t batch_size, BatchOptions options = {}) const;
  Dataset repeat(std::int64_t count = -1) const;
  Dataset take(std::int64_t count) const;
  Dataset skip(std::int64_t count) const;
  Dataset shard(std::int64_t num_shards, std::int64_t index) const;
  Dataset prefetch(std::int64_t buffer_size) const;
  Dataset cache() const;
  Dataset enumerate() const;
  // `f` is traced once on symbols of one element's leaves and travels as a graph.
  Dataset map(const std::function<Element(const Element&)>& f, MapOptions options = {}) const;
  // Convenience for tuples of leaves: map([](Tensor x, Tensor y) { return std::tuple(x / 255.0, y); }).
  template <class F>
  requires(!std::is_convertible_v<F, std::function<Element(const Element&)>>) Dataset map(F f, MapOptions options = {})
  const;

  bool defined() const { return static_cast<bool>(node_); }
  const ElementSpec& element_spec() const;
  std::int64_t cardinality() const;
  Iterator iterator() const;
  // A bare walker, for runners and other stages.
  std::unique_ptr<DatasetIterator> walk() const;

  const std::string& kind() const;
  const std::vector<Dataset>& inputs() const;
  const Attributes& attributes() const;
  const DatasetStage& stage() const;

 private:
  struct Node;
  std::shared_ptr<const Node> node_;
};

// Implementations register a maker for their kind.
using DatasetMaker = std::function<std::shared_ptr<const DatasetStage>(const std::vector<Dataset>& inputs,
                                                                       const Attributes& attributes)>;
bool register_dataset(const std::string& kind, DatasetMaker maker);
#define COHORT_DATASET(kind, maker)                                                \
  [[maybe_unused]] static const bool COHORT_CONCAT(cohort_dataset_, __COUNTER__) = \
      ::cohort::register_dataset(kind, maker)

// The chain as bytes (tensors included) and back.
std::string serialize(const Dataset& dataset);
Dataset parse_dataset(std::string_view bytes);
// The same with its tensors beside it, so that large ones travel once and without a limit.
std::string serialize(const Dataset& dataset, ConstantTable& constants);
Dataset parse_dataset(std::string_view bytes, const ConstantTable& constants);

namespace detail {

template <class R, class F, class... Args>
Element apply_to_leaves(const F& f, const Tensors& leaves, R (F::*)(Args...) const) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    if (leaves.size() != sizeof...(Args)) {
      throw invalid_argument("Dataset.map", "the function takes one argument for each tensor of an element",
                             {{"arguments", sizeof...(Args)}, {"tensors", leaves.size()}});
    }
    auto result = f(leaves[I]...);
    if constexpr (std::is_convertible_v<decltype(result), Element>) {
      return Element(result);
    } else {
      return std::apply([](const auto&... each) { return Element::tuple({Element(each)...}); }, result);
    }
  }
  (std::index_sequence_for<Args...>{});
}

}  // namespace detail

template <class F>
requires(!std::is_convertible_v<F, std::function<Element(const Element&)>>) Dataset Dataset::map(F f,
                                                                                                 MapOptions options)
const {
  return map(std::function<Element(const Element&)>(
                 [f](const Element& element) { return detail::apply_to_leaves(f, element.flatten(), &F::operator()); }),
             options);
}

}  // namespace cohort
