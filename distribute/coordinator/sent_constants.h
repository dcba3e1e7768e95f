#pragma once

#include <set>
#include <string>

#include "cohort/graph/graph.h"

namespace cohort::proto {
class ConstantsProto;
}

namespace cohort::distribute {

// Which constants a task has been sent. Not thread-safe.
class SentConstants {
 public:
  // Puts those the task lacks before the other parts of a message and names them.
  void attach(const ConstantTable& constants, proto::ConstantsProto& names, Tensors& parts);
  void clear() { hashes_.clear(); }

 private:
  std::set<std::string> hashes_;
};

}  // namespace cohort::distribute
