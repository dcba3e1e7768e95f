#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/datasets/elements.h"

namespace cohort::datasets::test {

// A dataset whose first tensor holds int64; each test of a transform instantiates Positions with some of its own.
struct PositionsCase {
  const char* name;
  Dataset (*make)();
};

// Datasets saved and restored at every position, rewound and sent; the checks are in positions_test.cpp.
class Positions : public testing::TestWithParam<PositionsCase> {};

// For INSTANTIATE_TEST_SUITE_P.
inline std::string name_of_case(const testing::TestParamInfo<PositionsCase>& info) { return info.param.name; }

}  // namespace cohort::datasets::test
