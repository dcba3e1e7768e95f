#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cohort/core/concat.h"
#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Gives one element after the other; none at the end.
using Generator = std::function<std::optional<Element>()>;
// Begins a pass: makes a generator that stands before the first element. Every pass makes one.
using GeneratorFactory = std::function<Generator()>;

// The elements that a generator gives, in this process alone: the dataset cannot be sent. A position is restored by
// running a new generator forward, so every pass should give the same elements up to there. An element that does not
// have the spec is an error in its place; when the generator throws, it cannot go on.
//   factory: called when a pass is first read; thread-safe where several iterators are.
//   spec: structure, types and shapes of the elements; kUnknown for sizes that differ.
Dataset from_generator(GeneratorFactory factory, const ElementSpec& spec);
// The same for a factory that COHORT_GENERATOR has registered: it can be sent to workers that have it too.
//   name: of the factory.
Dataset from_generator(const std::string& name, const ElementSpec& spec);

// Makes a factory known by a name; true, so that it can initialize a static variable.
bool register_generator(const std::string& name, GeneratorFactory factory);
#define COHORT_GENERATOR(name, factory)                                              \
  [[maybe_unused]] static const bool COHORT_CONCAT(cohort_generator_, __COUNTER__) = \
      ::cohort::datasets::register_generator(name, factory)

}  // namespace cohort::datasets
