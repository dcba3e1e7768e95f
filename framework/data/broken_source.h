#pragma once

#include "cohort/core/error.h"

namespace cohort {

// A source that cannot go on: its file is gone, or the rest of it cannot be read. Other errors of next() are about one
// element, behind which the iterator then stands.
class BrokenSource : public Error {
 public:
  using Error::Error;
  // An error of another kind that ends the source.
  explicit BrokenSource(const Error& error) : Error(error) {}
};

}  // namespace cohort
