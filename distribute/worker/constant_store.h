#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cohort/graph/graph.h"

namespace cohort::proto {
class ConstantsProto;
}

namespace cohort::distribute {

// The constants that one message named. Whoever needs them to stay in the store keeps this.
struct HeldConstants {
  ConstantTable table;
  std::size_t attached = 0;  // parts of the message that were constants, the first ones
  std::vector<std::shared_ptr<const Tensor>> held;
};

// Tensors that the graphs of a job name by content; each travels to a task once and stays as long as something that
// names it does. Thread-safe.
class ConstantStore {
 public:
  // The constants that `named` names: the message's first parts, and those that are here. Throws when one is missing.
  HeldConstants take(const proto::ConstantsProto& named, const Tensors& parts);
  // Constants that somebody holds.
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const Tensor>> constants_;
};

}  // namespace cohort::distribute
