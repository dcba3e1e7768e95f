#include "tests/support/elsewhere.h"

#include <gtest/gtest.h>

#include "cohort/autodiff/tape.h"
#include "cohort/graph/function.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/variables/variable.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

using test::Elsewhere;
using test::expect_values;

Variable made_by(VariableCreator& creator, const Tensor& value, VariableOptions options = {}) {
  VariableCreatorScope scope(&creator);
  return Variable(value, std::move(options));
}

TEST(VariableElsewhere, ReadsAndWritesGoToItsOwner) {
  Elsewhere place;
  Variable variable = made_by(place, Tensor::of<float>({1, 2, 3}, {3}), {.name = "far"});
  EXPECT_EQ(variable.body()->owner(), &place);
  EXPECT_EQ(variable.body()->made_under(), &place);
  variable.assign_add(Tensor::of<float>({1, 1, 1}, {3}));
  variable.scatter_add(Tensor::of<std::int32_t>({0}, {1}), Tensor::of<float>({10}, {1}));
  expect_values(read_now(variable), {12, 3, 4}, 0);
  write_now(variable, Tensor::of<float>({5, 6, 7}, {3}));
  expect_values(variable.value() * 2.0, {10, 12, 14}, 0);
  EXPECT_EQ(place.ops_run, 5);
}

TEST(VariableElsewhere, CreatorsScopeEnds) {
  Elsewhere place;
  { VariableCreatorScope scope(&place); }
  EXPECT_EQ(current_variable_creator(), nullptr);
  EXPECT_EQ(Variable(Tensor::scalar(1)).body()->owner(), nullptr);
  VariableCreatorScope outer(&place), inner(nullptr);
  EXPECT_EQ(Variable(Tensor::scalar(1)).body()->owner(), nullptr);
}

TEST(VariableElsewhere, FunctionsOnTheProgramsSideRunOpByOp) {
  Elsewhere place;
  Variable far = made_by(place, Tensor::of<float>({1, 2}, {2}));
  Variable here(Tensor::of<float>({10, 20}, {2}));
  const Function step = function([&](const Tensor& x) {
    Variable(far).assign_add(x);
    Variable(here).assign_sub(x);
    return Tensor(far.value() * x + here.value());
  });
  expect_values(step(Tensor::of<float>({1, 1}, {2})), {11, 22}, 0);
  expect_values(step(Tensor::of<float>({2, 2}, {2})), {4 * 2 + 7, 5 * 2 + 17}, 0);
  EXPECT_EQ(step.trace_count(), 1);
}

TEST(VariableElsewhere, GradientsFlowToIt) {
  Elsewhere place;
  const Variable far = made_by(place, Tensor::of<float>({1, 2}, {2}));
  GradientTape tape;
  const Tensor y = ops::sum(far.value() * far.value());
  expect_values(tape.gradient(y, Variables{far})[0].dense(), {2, 4}, 0);
}

TEST(VariableElsewhere, OneCallTakesResourcesOfOnePlace) {
  Elsewhere first, second;
  const Variable a = made_by(first, Tensor::of<float>({1}, {1}), {.name = "a"});
  const Variable b = made_by(second, Tensor::of<float>({1}, {1}), {.name = "b"});
  const Variable here(Tensor::of<float>({1}, {1}), {.name = "here"});
  const Tensor gradient = Tensor::of<float>({1}, {1}), rate = Tensor::scalar(0.1);
  for (const Variable& slot : {b, here}) {
    try {
      run_op_all("MomentumUpdate", {a.handle(), slot.handle(), gradient, rate});
      FAIL() << slot.name();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("one place"), std::string::npos) << error.what();
    }
  }
}

TEST(VariableElsewhere, AReplicaTakesAValueWithoutACopy) {
  auto body = std::make_shared<LocalVariable>(Tensor::of<float>({1, 2}, {2}), VariableOptions{.name = "replica"});
  Variable replica(body);
  const Tensor fresh = Tensor::of<float>({3, 4}, {2});
  body->replace_value(fresh.view(fresh.shape()));
  EXPECT_EQ(body->kernel_pointer(), fresh.raw());
  expect_values(replica.value(), {3, 4}, 0);
  replica.assign_add(fresh);  // what others hold keeps its value
  expect_values(fresh, {3, 4}, 0);
  expect_values(replica.value(), {6, 8}, 0);
  EXPECT_THROW(body->replace_value(Tensor::scalar(1)), Error);
}

}  // namespace
}  // namespace cohort
