#include <gtest/gtest.h>

#include "cohort/variables/initializers.h"
#include "cohort/variables/variable.h"
#include "tests/support/elsewhere.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

// The numbers of a variable made elsewhere are those of local training, and so are the numbers that follow.
TEST(InitialValue, IsTheSameWhereverItIsComputed) {
  const std::vector<Ref<Initializer>> all = {
      "glorot_uniform",
      "he_normal",
      "random_normal",
      "truncated_normal",
      "random_uniform",
      "orthogonal",
      "zeros",
      "identity",
      initializers::Constant(0.25),
      initializers::RandomNormal({.seed = 7}),
      initializers::VarianceScaling({.scale = 3.0, .mode = "fan_out", .distribution = "untruncated_normal"})};
  const auto draw = [&](VariableCreator* creator) {
    VariableCreatorScope scope(creator);
    set_random_seed(3);
    std::vector<float> values;
    for (const Ref<Initializer>& initializer : all) {
      const Variable variable(InitialValue(*initializer, {5, 4}, DType::Float32));
      for (float value : read_now(variable).to_vector<float>()) values.push_back(value);
    }
    return values;
  };
  test::Elsewhere place;
  std::vector<float> plain;
  set_random_seed(3);
  for (const Ref<Initializer>& initializer : all) {
    for (float value : (*initializer)({5, 4}, DType::Float32).to_vector<float>()) plain.push_back(value);
  }
  EXPECT_EQ(draw(nullptr), plain);
  EXPECT_EQ(draw(&place), plain);
  test::Sharding shards(3, &place);
  EXPECT_EQ(draw(&shards), plain);
}

TEST(InitialValue, KeepsFieldsThatAreNull) {
  using initializers::STFTInitializer;
  for (const initializers::STFTOptions& options :
       {initializers::STFTOptions{.window = std::nullopt}, initializers::STFTOptions{.scaling = std::nullopt}}) {
    const STFTInitializer initializer(options);
    const InitialValue value(initializer, {8, 1, 5}, DType::Float32);
    EXPECT_FALSE(value.concrete());
    EXPECT_EQ(value.value().to_vector<float>(), initializer({8, 1, 5}, DType::Float32).to_vector<float>());
  }
}

class Halves : public Initializer {
 public:
  std::string class_name() const override { return "Constant"; }  // claims a name that is another's
  Tensor operator()(const Shape& shape, DType dtype) const override { return Tensor::full(shape, 0.5, dtype); }
};

TEST(InitialValue, OfAUsersOwnInitializerIsComputedAtOnce) {
  EXPECT_TRUE(InitialValue(Halves(), {2}, DType::Float32).concrete());
  EXPECT_FALSE(InitialValue(initializers::ConstantInitializer(0.5), {2}, DType::Float32).concrete());
  test::expect_values(InitialValue(Halves(), {4}, DType::Float32).rows(1, 2).value(), {0.5, 0.5}, 0);
}

TEST(InitialValue, RefusesBadCallsFromTheWire) {
  const Attributes good = {{"class", "Constant"},     {"field.value", 1.0}, {"shape", Shape{4, 2}},
                           {"dtype", DType::Float32}, {"first_row", 1},     {"rows", 2}};
  test::expect_values(run_op("InitialValue", {}, good), {1, 1, 1, 1}, 0);
  const auto refused = [&](const char* name, AttributeValue value) {
    Attributes bad = good;
    bad.set(name, std::move(value));
    EXPECT_THROW(run_op("InitialValue", {}, bad), Error) << name;
  };
  refused("class", std::string("NoSuch"));
  refused("field.value", std::string("text"));
  refused("shape", Shape{kUnknown, 2});
  refused("dtype", DType::String);
  refused("first_row", std::int64_t{3});
  refused("first_row", std::int64_t{-1});
  refused("rows", std::int64_t{5});
}

}  // namespace
}  // namespace cohort
