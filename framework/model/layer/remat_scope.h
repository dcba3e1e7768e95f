#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/thread_scope.h"

namespace cohort {

// Which layers compute their outputs again in the backward pass, Keras's modes: "full" (every layer), "list_of_layers"
// (those named), "larger_than" (those whose output has more elements than the threshold).
struct RematMode {
  // "full", "list_of_layers" or "larger_than".
  std::string mode = "full";
  // Elements of one sample's output above which "larger_than" takes a layer.
  std::int64_t output_size_threshold = 1024;
  // Names of the layers "list_of_layers" takes.
  std::vector<std::string> layer_names = {};
};

// Layers made while it lives are rematerialised as the mode says: in training they keep no more than their inputs.
// Thread-local, nested.
class RematScope {
 public:
  explicit RematScope(RematMode mode = {});
  // The innermost one's mode; nullptr outside of any.
  static std::shared_ptr<const RematMode> current();

 private:
  using Innermost = ThreadScope<RematScope, std::shared_ptr<const RematMode>>;
  Innermost innermost_;
};

}  // namespace cohort
