#pragma once

#include <memory>
#include <vector>

#include "cohort/data/dataset.h"
#include "cohort/graph/function.h"

namespace cohort::distribute {

// How far a scheduled function has come.
enum class RemoteValueStatus {
  NotReady,
  Ready,    // there is a value, or the error the function threw
  Aborted,  // the function was not run, or not to its end, because something else failed or was cancelled
};

// The result of a scheduled function, which may not be there yet. A shared handle. Thread-safe.
class RemoteValue {
 public:
  class Body;

  // An undefined value.
  RemoteValue() = default;
  explicit RemoteValue(std::shared_ptr<Body> body) : body_(std::move(body)) {}

  // Waits; throws what the function threw, or Cancelled.
  Results fetch() const;
  // True when fetch() does not wait.
  bool ready() const { return status() != RemoteValueStatus::NotReady; }
  // How far the function has come.
  RemoteValueStatus status() const;

 private:
  std::shared_ptr<Body> body_;
};

// Waits for all of them, in order; throws the first error.
std::vector<Results> fetch(const std::vector<RemoteValue>& values);

// A value that every worker has its own of. As an argument of schedule() each worker gets its own.
class PerWorkerValues {
 public:
  class Body;

  PerWorkerValues() = default;
  explicit PerWorkerValues(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  // True for one that the coordinator made.
  bool defined() const { return static_cast<bool>(body_); }
  // What its handles share.
  const Body& body() const { return *body_; }

 private:
  std::shared_ptr<const Body> body_;
};

// A dataset of which every worker walks its own copy.
class PerWorkerDataset {
 public:
  class Body;

  PerWorkerDataset() = default;
  explicit PerWorkerDataset(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  // An iterator for each worker, over its own copy.
  PerWorkerValues iterator() const;
  // Structure, types and shapes of the elements.
  const ElementSpec& element_spec() const;

 private:
  std::shared_ptr<const Body> body_;
};

}  // namespace cohort::distribute
