#include <algorithm>

#include "cohort/core/op.h"
#include "cohort/core/text.h"
#include "cohort/kernels/functors.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

// What belongs to graphs, tapes and variables is tested with them.
bool tested_elsewhere(const OpDef& op) {
  static const std::vector<std::string> names = {"Input", "Constant", "CustomGradient", "InitialValue", "WaitFor"};
  return op.is_stateful() || op.reads_resources() || op.writes_resources() ||
         std::find(names.begin(), names.end(), op.name()) != names.end();
}

TEST(OpRegistry, EveryOpHasAReferenceCase) {
  std::vector<std::string> lacking;
  for (const OpDef* op : all_ops()) {
    if (!tested_elsewhere(*op) && coverage_of(op->name()).reference_types.empty()) lacking.push_back(op->name());
  }
  EXPECT_TRUE(lacking.empty()) << "no COHORT_OP_REFERENCE for: " << join(lacking);
}

TEST(OpRegistry, EveryOpHasAGradientCaseOrDeclaresNone) {
  std::vector<std::string> undefined, untested;
  for (const OpDef* op : all_ops()) {
    if (tested_elsewhere(*op) || !op->is_differentiable()) continue;
    if (!op->has_gradient()) undefined.push_back(op->name());
    if (!coverage_of(op->name()).gradient) untested.push_back(op->name());
  }
  EXPECT_TRUE(undefined.empty()) << "neither a gradient nor not_differentiable(): " << join(undefined);
  EXPECT_TRUE(untested.empty()) << "no COHORT_OP_GRADIENT for: " << join(untested);
}

TEST(OpRegistry, ElementwiseOpsAreTestedForEveryTypeTheyTake) {
  const auto check = [](const std::string& op, fn::Types types) {
    const std::vector<DType>& wanted = types == fn::Types::Float    ? kFloats
                                       : types == fn::Types::Number ? kNumbers
                                       : types == fn::Types::Bool   ? kBool
                                                                    : kAllTypes;
    const std::vector<DType> tested = coverage_of(op).reference_types;
    for (DType dtype : wanted) {
      EXPECT_NE(std::find(tested.begin(), tested.end(), dtype), tested.end()) << op << " is not tested for " << dtype;
    }
  };
#define COHORT_ROW(Name, function, types, ...) check(#Name, fn::Types::types);
  COHORT_UNARY_FUNCTORS(COHORT_ROW)
  COHORT_UNARY_TESTS(COHORT_ROW)
  COHORT_BINARY_FUNCTORS(COHORT_ROW)
  COHORT_BINARY_TESTS(COHORT_ROW)
#undef COHORT_ROW
}

}  // namespace
}  // namespace cohort::test
