#include <gtest/gtest.h>

#include "cohort/core/masks.h"
#include "cohort/model/functional.h"
#include "cohort/saving/model_json.h"
#include "tests/model/small_models.h"
#include "tests/support/error_of.h"

namespace cohort {
namespace {

// x * factor + y, where y may be left out: a layer of named arguments.
class Scaled : public Layer {
 public:
  std::vector<std::string> argument_names() const override { return {"x", "y", "mask"}; }
  void build_element(const ShapeTree& inputs) override { built_for_ = structure_of(inputs); }
  Element call_element(const Element& inputs, const CallContext& context) override {
    const Tensor x = inputs.is_leaf() ? inputs.leaf() : inputs.find("x")->leaf();
    const Tensor mask = context.mask.is_leaf() ? context.mask.leaf() : context.mask.find("x")->leaf();
    Tensor result = x * context.arguments.get<double>("factor", 1.0);
    if (mask.defined()) result = result * mask;
    return inputs.is_leaf() ? result : result + inputs.find("y")->leaf();
  }
  std::string built_for_;
};
COHORT_REGISTER_LAYER("arguments", Scaled);

Tensor filled(double value) { return Tensor::full({2, 3}, value); }

TEST(CallArguments, ReachTheLayerByName) {
  auto layer = make<Scaled>();
  EXPECT_EQ(layer(filled(2.0), {.arguments = {{"factor", 3.0}}}).to_vector<float>()[0], 6.0f);
  const Element named = Element::dict({{"y", filled(1.0)}, {"x", filled(2.0)}});
  EXPECT_EQ(layer->apply(named, {}).leaf().to_vector<float>()[0], 3.0f);
  EXPECT_EQ(layer->built_for_, "*");
  auto other = make<Scaled>();
  other->apply(named, {});
  EXPECT_EQ(other->built_for_, "{1:x*1:y*}");  // in the layer's order
}

TEST(CallArguments, AMaskIsThatOfTheFirst) {
  auto layer = make<Scaled>();
  const Tensor mask = Tensor::full({2, 1}, 0.0);
  const Element bare = Element::dict({{"x", filled(2.0)}, {"mask", mask}});
  EXPECT_EQ(layer->apply(bare, {}).leaf().to_vector<float>()[0], 0.0f);
  const Element both = Element::dict({{"x", filled(2.0)}, {"y", filled(1.0)}, {"mask", mask}});
  EXPECT_EQ(layer->apply(both, {}).leaf().to_vector<float>()[0], 1.0f);
}

TEST(CallArguments, UnknownNamesAreRefused) {
  auto layer = make<Scaled>();
  const std::string error = test::error_of([&] { layer->apply(Element::dict({{"z", filled(1.0)}}), {}); });
  EXPECT_NE(error.find("'z'"), std::string::npos) << error;
  EXPECT_NE(error.find("x, y, mask"), std::string::npos) << error;
}

TEST(CallArguments, StayWithACallOnSymbols) {
  SymbolicTensor x = Input({3}), y = Input({3});
  auto layer = make<Scaled>();
  const Symbols named(Tree<SymbolicTensor>::dict({{"x", x}, {"y", y}}));
  const SymbolicTensor once = layer->apply_symbols(named, {{"factor", 3.0}}).leaf();
  Model model({x, y}, layer(once, {.arguments = {{"factor", 10.0}}}));
  const Element inputs = Element::tuple({filled(2.0), filled(1.0)});
  EXPECT_EQ(model.apply(inputs, {}).leaf().to_vector<float>()[0], 70.0f);

  const std::string json = model_to_json(model);
  EXPECT_NE(json.find(R"("kwargs":{"factor":3.0})"), std::string::npos) << json;
  const Ref<Model> read = model_from_json(json);
  EXPECT_EQ(read->apply(inputs, {}).leaf().to_vector<float>()[0], 70.0f);
  EXPECT_EQ(model_to_json(*read), json);
}

// Passes on whether its inner layer was in training.
class Told : public Layer {
 public:
  Tensor call(const Tensor& x, const CallContext& context) override { return context.training ? x + 1.0 : x; }
};
class Teller : public Layer {
 public:
  Teller() : told_(track("told", make<Told>())) {}
  Tensor call(const Tensor& x, const CallContext&) override { return told_(x) * 10.0 + told_(x, {.training = false}); }
  Layer::Handle<Told> told_;
};

TEST(CallArguments, TrainingIsThatOfTheCallAround) {
  auto teller = make<Teller>();
  EXPECT_EQ(teller(filled(0.0), {.training = true}).to_vector<float>()[0], 10.0f);
  EXPECT_EQ(teller(filled(0.0)).to_vector<float>()[0], 0.0f);
}

}  // namespace
}  // namespace cohort
