#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/support/error_of.h"
#include "tests/support/patience.h"

namespace cohort::test {

// The error a call throws, which must come within the time.
template <class Call>
std::string error_within(std::chrono::milliseconds limit, const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  std::string error = error_of(call);
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  EXPECT_LT(elapsed.count(), patience(limit).count()) << error;
  return error;
}

}  // namespace cohort::test
