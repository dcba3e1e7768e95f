#pragma once

#include <memory>
#include <string>

#include "cohort/core/dtype.h"

namespace cohort {

class VariableBody;

// How values that replicas hold apart become one.
enum class Aggregation { None, Sum, Mean, OnlyFirstReplica };
// When they become one: with every write, or (metrics) when somebody reads.
enum class Synchronization { Auto, OnWrite, OnRead };

// What a variable is made with besides its value.
struct VariableOptions {
  // Part of its path; need not be unique.
  std::string name = "variable";
  // Counts among the trainable variables of its layer, which optimizers train.
  bool trainable = true;
  // Type of its elements.
  DType dtype = DType::Float32;
  // How values that replicas hold apart become one.
  Aggregation aggregation = Aggregation::Mean;
  // When they become one.
  Synchronization synchronization = Synchronization::Auto;
  // The variable this one must lie with (an optimizer's slot with its weight); none: anywhere.
  std::shared_ptr<VariableBody> colocate_with = nullptr;
  // "sequential/dense/kernel"; left out: its name.
  std::string path = {};
  // Layers of mixed precision read it in the type they compute in.
  bool autocast = true;
};

}  // namespace cohort
