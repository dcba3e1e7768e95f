#pragma once

#include <cstddef>
#include <mutex>

#include "cohort/graph/graph.h"

namespace cohort::proto {
class ConstantsProto;
}

namespace cohort::distribute {

// Tensors that the graphs of a job name by content; each travels to a task once. Thread-safe.
class ConstantStore {
 public:
  // Keeps the message's first parts, which `sent` names; how many those were.
  std::size_t take(const proto::ConstantsProto& sent, const Tensors& parts);
  ConstantTable table() const;

 private:
  mutable std::mutex mutex_;
  ConstantTable constants_;
};

}  // namespace cohort::distribute
