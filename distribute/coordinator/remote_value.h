#pragma once

#include <memory>

#include "cohort/data/dataset.h"
#include "cohort/graph/function.h"

namespace cohort::distribute {

// The result of a scheduled function, which may not be there yet. A shared handle. Thread-safe.
class RemoteValue {
 public:
  // Waits; throws what the function threw, or Cancelled.
  Results fetch() const;
  bool ready() const;

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

// A value that every worker has its own of. As an argument of schedule() each worker gets its own.
class PerWorkerValues {
 private:
  class Body;
  std::shared_ptr<Body> body_;
};

// A dataset of which every worker walks its own copy.
class PerWorkerDataset {
 public:
  PerWorkerValues iterator() const;
  const ElementSpec& element_spec() const;

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace cohort::distribute
