#pragma once

#include <cstdlib>

namespace cohort::test {

// How often a test kills something: a few times in the suite, COHORT_TEST_KILLS times where somebody wants to be sure.
inline int kills_wanted(int usually) {
  const char* text = std::getenv("COHORT_TEST_KILLS");
  return text ? std::atoi(text) : usually;
}

}  // namespace cohort::test
