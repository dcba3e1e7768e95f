#include <gtest/gtest.h>

#include "cohort/core/device.h"
#include "cohort/variables/variable.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

// What is written comes from the host; the variable stays where it was made.
TEST(VariablePlacement, HostValuesReachAVariableOnAnotherDevice) {
  const std::string before = default_device().name();
  set_default_device("TEST:0");
  Variable variable(Tensor::of<float>({1, 2}, {2}), {.name = "far"});
  set_default_device(before);
  const Tensor host = Tensor::of<float>({3, 4}, {2}, cpu());
  variable.assign(host);
  variable.assign_add(host);
  write_now(variable, read_now(variable));
  test::expect_values(variable.value(), {6, 8}, 0);
  EXPECT_EQ(variable.value().device().name(), "TEST:0");
}

}  // namespace
}  // namespace cohort
