#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/error.h"

namespace cohort::distribute {

// What a thrown thing says, whatever it is.
std::string text_of(const std::exception_ptr& error);
// Nothing when it is not one of the framework's errors.
std::optional<ErrorCode> code_of(const std::exception_ptr& error);

// The errors of work that ran side by side: the first one counts, the others are told with it.
class CollectedErrors {
 public:
  void add(std::exception_ptr error);
  bool empty() const { return !first_; }
  const std::exception_ptr& first() const { return first_; }
  // The first error, with the texts of the others ("and 2 more: ..."); empties the collection.
  std::exception_ptr take();

 private:
  std::exception_ptr first_;
  std::size_t more_ = 0;
  std::vector<std::string> texts_;  // of the others, each once, only a few
};

}  // namespace cohort::distribute
