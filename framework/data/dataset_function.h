#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "cohort/core/attributes.h"
#include "cohort/core/concat.h"
#include "cohort/data/element.h"

namespace cohort {

class Dataset;

// What makes a dataset of an element, as flat_map and interleave take it: plain C++, not traced. A callable serves
// chains of this process, for as long as it runs; a registered one travels as its name.
class DatasetFunction {
 public:
  // From a lambda, a function or a std::function: of the Element itself, or of its tensors, one argument each.
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, DatasetFunction>) DatasetFunction(F f) {
    if constexpr (std::is_convertible_v<F, Call>) {
      take({std::move(f), std::nullopt});
    } else {
      take(of_tensors(std::function(std::move(f))));
    }
  }
  // The one that COHORT_DATASET_FUNCTION made known under this name; throws where there is none.
  static DatasetFunction registered(const std::string& name);

  // The dataset of one element.
  //   who: the transform that calls, for errors.
  Dataset operator()(const Element& element, const char* who) const;

  // The function as attributes of a stage.
  void save_to(Attributes& attributes) const;
  // And back; throws where this process has no such function.
  //   who: the transform that asks, for errors.
  static DatasetFunction of(const char* who, const Attributes& attributes);

  // Makes a function known by name; true, so that it can initialize a static variable.
  static bool make_known(const std::string& name, const DatasetFunction& function);

 private:
  using Call = std::function<Dataset(const Element&)>;
  struct Body {
    Call call;
    std::optional<std::size_t> arguments;  // tensors it takes; none where it takes the element
    std::string name = {};                 // registered under; empty for a local one
  };

  explicit DatasetFunction(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  void take(Body body);
  template <class R, class... Args>
  static Body of_tensors(std::function<R(Args...)> f) {
    return {[f = std::move(f)](const Element& element) {
              return call_with(f, element.flatten(), std::index_sequence_for<Args...>{});
            },
            sizeof...(Args)};
  }
  template <class F, std::size_t... I>
  static auto call_with(const F& f, const Tensors& leaves, std::index_sequence<I...>) {
    return f(leaves[I]...);
  }
  static DatasetFunction find(const char* who, const Attributes& attributes);
  struct Known;
  static Known& known();

  std::shared_ptr<const Body> body_;
};

// Registers what makes a dataset of an element, where the program starts: then chains with it can be sent to workers
// that run the same program.
#define COHORT_DATASET_FUNCTION(name, ...)                                                  \
  [[maybe_unused]] static const bool COHORT_CONCAT(cohort_dataset_function_, __COUNTER__) = \
      ::cohort::DatasetFunction::make_known(name, __VA_ARGS__)

// What Dataset::flat_map takes besides the function.
struct FlatMapOptions {
  // Structure, types and shapes of the elements of all datasets; none: as the first dataset says, for which one element
  // is read when the chain is made.
  std::optional<ElementSpec> element_spec = std::nullopt;
};
// What Dataset::interleave takes besides the function.
struct InterleaveOptions {
  // Datasets walked at a time.
  std::int64_t cycle_length = 16;
  // Elements taken from one of them before the next has its turn.
  std::int64_t block_length = 1;
  // Datasets read ahead at a time; -1 (kAutotune): as many as the pool has threads; 0: none, elements are read by the
  // thread that asks.
  std::int64_t num_parallel_calls = 0;
  // Keep the order; else whichever dataset has elements ready comes first.
  bool deterministic = true;
  // Structure, types and shapes of the elements of all datasets; none: as the first dataset says, for which one element
  // is read when the chain is made.
  std::optional<ElementSpec> element_spec = std::nullopt;
};

}  // namespace cohort
