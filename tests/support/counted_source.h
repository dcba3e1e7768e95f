#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cohort/data/dataset.h"

namespace cohort::test {

struct CountedSourceOptions {
  std::int64_t elements = -1;          // -1: without end
  bool known = true;                   // whether it says how many they are
  std::chrono::milliseconds takes{0};  // how long each takes
  // Whoever finds no such file makes it and then waits for ever; empty: nobody.
  std::string trap = {};
};

// A registered source of pairs of tensors of shape (1, 1): element n is (n + 1, 0). A worker of another binary than a
// test's does not know it.
Dataset counted_source(const CountedSourceOptions& options);

}  // namespace cohort::test
