#include "cohort/core/update_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <type_traits>

#include "cohort/core/update_op.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

// A kernel maker on any device takes it into its closure.
static_assert(std::is_trivially_copyable_v<UpdateLayout>);

const OpDef& two_slots() {
  static const OpDef& op = define_update("TestTwoSlotsUpdate", {.slots = 2, .shared = {kLearningRate, kIterations}});
  return op;
}

// The first axis of the gradient only.
const OpDef& narrow_slot() {
  static const OpDef& op = define_update(
      "TestNarrowSlotUpdate",
      {.slots = 1,
       .attributes = {{"wide", false}},
       .more_slots = [](const OpCall& call) { return call.attr<bool>("wide") ? 1 : 0; },
       .slot_spec =
           [](const OpCall&, int kind, const TensorSpec& gradient) {
             return kind == 0 ? TensorSpec{gradient.dtype, gradient.shape.slice(0, 1)} : gradient;
           },
       .check_gradient = [](const OpCall& call,
                            const Shape& gradient) { call.check(gradient.rank() > 0, "axes are expected"); }});
  return op;
}

const TensorSpec kResource{DType::Resource, {}}, kRate{DType::Float32, {}}, kSteps{DType::Int64, {}};

TEST(UpdateLayout, SaysWhereEachInputStands) {
  const UpdateLayout at(two_slots(), UpdateLayout::attributes(2, true, 3), 3 * 5 + 2);
  EXPECT_EQ(at.count(), 3);
  EXPECT_EQ(at.slots(), 2);
  EXPECT_EQ(at.groups(), 5);
  EXPECT_EQ(at.num_shared(), 2);
  EXPECT_TRUE(at.has_squares());
  EXPECT_EQ(at.variable(1), 1);
  EXPECT_EQ(at.slot(1, 0), 4);
  EXPECT_EQ(at.slot(1, 1), 7);
  EXPECT_EQ(at.gradient(1), 10);
  EXPECT_EQ(at.squares(1), 13);
  EXPECT_EQ(at.shared(1), 16);
  // Every input has exactly one place.
  std::set<int> places = {at.shared(0), at.shared(1)};
  for (int i = 0; i < 3; ++i) {
    places.insert({at.variable(i), at.slot(i, 0), at.slot(i, 1), at.gradient(i), at.squares(i)});
  }
  EXPECT_EQ(places.size(), 17u);
}

TEST(UpdateLayout, TakesWhatACallLeavesOutFromTheOp) {
  const UpdateLayout at(two_slots(), {}, 6);
  EXPECT_EQ(at.count(), 1);
  EXPECT_EQ(at.slots(), 2);
  EXPECT_FALSE(at.has_squares());
  EXPECT_EQ(at.gradient(0), 3);
  EXPECT_EQ(at.shared(0), 4);
}

const OpDef& rounding() {
  static const OpDef& op = define_update("TestRoundingUpdate", {.slots = 1, .rounds = true});
  return op;
}

TEST(UpdateLayout, HasAGroupOfRoundedCopies) {
  EXPECT_TRUE(UpdateLayout::rounds(rounding()));
  EXPECT_FALSE(UpdateLayout::rounds(two_slots()));
  Attributes attributes = UpdateLayout::attributes(1, true, 2);
  EXPECT_FALSE(UpdateLayout(rounding(), attributes, 2 * 4 + 1).has_rounded());
  UpdateLayout::add_rounded(rounding(), attributes, DType::Float16);
  const UpdateLayout at(rounding(), attributes, 2 * 5 + 1);
  EXPECT_TRUE(at.has_rounded());
  EXPECT_EQ(at.rounded_type(), DType::Float16);
  EXPECT_EQ(at.slots(), 1);
  EXPECT_EQ(at.squares(1), 7);
  EXPECT_EQ(at.rounded(1), 9);
  EXPECT_EQ(at.shared(0), 10);
}

TEST(UpdateLayout, ClaimsRoundedCopiesOfFloat32AndHalfTypesAlone) {
  Attributes attributes = UpdateLayout::attributes(1, false);
  UpdateLayout::add_rounded(rounding(), attributes, DType::BFloat16);
  Specs specs{kResource, kResource, {DType::Float32, {3}}, kResource, kRate};
  EXPECT_NO_THROW(rounding().infer_outputs(specs, attributes));
  const VariableClaims claims = rounding().claims_of(OpCall(rounding(), attributes, specs));
  const auto copy =
      std::find_if(claims.begin(), claims.end(), [](const VariableClaim& claim) { return claim.input == 3; });
  ASSERT_NE(copy, claims.end());
  EXPECT_EQ(copy->spec, (TensorSpec{DType::BFloat16, {3}}));
  specs[2].dtype = DType::Float64;
  EXPECT_THROW(rounding().infer_outputs(specs, attributes), Error);
  specs[2].dtype = DType::Float32;
  specs[3] = {DType::BFloat16, {3}};
  EXPECT_THROW(rounding().infer_outputs(specs, attributes), Error);
  Attributes wide = UpdateLayout::attributes(1, false);
  UpdateLayout::add_rounded(rounding(), wide, DType::Float64);
  specs[3] = kResource;
  EXPECT_THROW(rounding().infer_outputs(specs, wide), Error);
}

TEST(UpdateLayout, RefusesAttributesThatAskForMoreInputsThanThereAre) {
  const auto refused = [](const Attributes& attributes, int inputs) {
    test::expect_error([&] { UpdateLayout(two_slots(), attributes, inputs); }, {"TestTwoSlotsUpdate"});
  };
  refused(UpdateLayout::attributes(2, false, 2), 7);
  refused(UpdateLayout::attributes(2, false, 0), 6);
  refused(UpdateLayout::attributes(2, false, -1), 6);
  refused(UpdateLayout::attributes(-1, false, 1), 6);
  refused(UpdateLayout::attributes(1 << 30, false, 1 << 30), 6);
}

TEST(UpdateLayout, DescribesUpdatesOnly) {
  EXPECT_TRUE(UpdateLayout::describes(two_slots()));
  EXPECT_TRUE(UpdateLayout::describes(find_op("AdamUpdate")));
  EXPECT_FALSE(UpdateLayout::describes(find_op("AssignVariable")));
  EXPECT_FALSE(UpdateLayout::describes(find_op("Conv")));  // has groups of channels
}

TEST(UpdateOp, ClaimsVariablesAndSlotsByTheirGradients) {
  const TensorSpec first{DType::Float32, {4, 2}}, second{DType::Float32, {3}};
  Attributes attributes = UpdateLayout::attributes(2, false, 2);
  attributes.set("wide", true);
  const Specs inputs = {kResource, kResource, kResource, kResource, kResource, kResource, first, second, kRate};
  EXPECT_TRUE(narrow_slot().infer_outputs(inputs, attributes).empty());
  const VariableClaims claims = narrow_slot().claims_of(OpCall(narrow_slot(), attributes, inputs));
  ASSERT_EQ(claims.size(), 6u);
  Specs claimed(6);
  for (const VariableClaim& claim : claims) claimed[static_cast<std::size_t>(claim.input)] = claim.spec;
  EXPECT_EQ(claimed, (Specs{first, second, {DType::Float32, {4}}, second, first, second}));
}

TEST(UpdateOp, ChecksItsInputs) {
  const TensorSpec gradient{DType::Float32, {4, 2}};
  const auto infer = [](Specs inputs, const Attributes& attributes = {}) {
    narrow_slot().infer_outputs(inputs, attributes);
  };
  EXPECT_NO_THROW(infer({kResource, kResource, gradient, kRate}));
  EXPECT_NO_THROW(infer({kResource, kResource, gradient, gradient, kRate}, UpdateLayout::attributes(1, true)));
  // A slot that is no variable, a scalar too many and of another type, an integer gradient, one without axes.
  EXPECT_THROW(infer({kResource, gradient, gradient, kRate}), Error);
  EXPECT_THROW(infer({kResource, kResource, gradient, kRate, kSteps}), Error);
  EXPECT_THROW(infer({kResource, kResource, gradient, kSteps}), Error);
  EXPECT_THROW(infer({kResource, kResource, {DType::Int32, {4, 2}}, kRate}), Error);
  EXPECT_THROW(infer({kResource, kResource, kRate, kRate}), Error);
  // Squares of another shape, and slots that the call's own attributes do not ask for.
  EXPECT_THROW(infer({kResource, kResource, gradient, {DType::Float32, {4}}, kRate}, UpdateLayout::attributes(1, true)),
               Error);
  EXPECT_THROW(infer({kResource, kResource, kResource, gradient, kRate}, UpdateLayout::attributes(2, false)), Error);
}

}  // namespace
}  // namespace cohort
