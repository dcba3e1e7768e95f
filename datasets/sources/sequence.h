#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cohort/core/concat.h"
#include "cohort/data/dataset.h"

namespace cohort::utils {

// Batches by number, computed by a program's own class: keras.utils.Sequence.
class Sequence {
 public:
  virtual ~Sequence() = default;
  // Number of batches; the same from epoch to epoch.
  virtual std::int64_t size() const = 0;
  // A batch.
  //   index: in [0, size()).
  virtual Element get(std::int64_t index) = 0;
  // Called between epochs.
  virtual void on_epoch_end() {}
  // Whether get() may be called by several threads at a time.
  virtual bool is_thread_safe() const { return false; }
};

}  // namespace cohort::utils

namespace cohort::datasets {

// Makes a sequence, once for each dataset that is made by its name.
using SequenceFactory = std::function<std::shared_ptr<utils::Sequence>()>;

// The batches of a sequence, reached by number, in this process alone: the dataset cannot be sent. One iterator at a
// time walks it, because epochs change the sequence: before the first batch of epoch n has been read, on_epoch_end()
// has been called n times, after a restore as well.
//   spec: structure, types and shapes of the batches, kUnknown for sizes that differ; none: like batch 0, of any size.
Dataset from_sequence(const std::shared_ptr<utils::Sequence>& sequence, std::optional<ElementSpec> spec = std::nullopt);
// The same for a factory that COHORT_SEQUENCE has registered: it can be sent to workers that have it too.
//   name: of the factory.
Dataset from_sequence(const std::string& name, std::optional<ElementSpec> spec = std::nullopt);

// Makes a factory known by a name; true, so that it can initialize a static variable.
bool register_sequence(const std::string& name, SequenceFactory factory);
#define COHORT_SEQUENCE(name, factory)                                              \
  [[maybe_unused]] static const bool COHORT_CONCAT(cohort_sequence_, __COUNTER__) = \
      ::cohort::datasets::register_sequence(name, factory)

}  // namespace cohort::datasets
