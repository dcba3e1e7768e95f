#pragma once

#include <string>

#include "cohort/core/error.h"

namespace cohort::test {

// The error a call throws, as "InvalidArgument who: ..."; empty when it throws none.
template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + " " + error.what();
  }
  return {};
}

}  // namespace cohort::test
