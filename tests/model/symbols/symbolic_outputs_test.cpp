#include <gtest/gtest.h>

#include "cohort/layers/layers.h"
#include "cohort/model/model.h"
#include "cohort/model/symbols/symbolic_ops.h"
#include "cohort/ops/ops.h"
#include "cohort/saving/model_json.h"
#include "tests/support/error_of.h"

namespace cohort {
namespace {

using test::error_of;

// Gives its input, twice it, and thrice it under a name.
class Multiples : public Layer {
 public:
  explicit Multiples(bool named = false) : named_(named) {}
  Element call_element(const Element& inputs, const CallContext&) override {
    const Tensor& x = inputs.leaf();
    if (named_) return Element::dict({{"once", x}, {"twice", x * 2.0}});
    return Element::tuple({x, x * 2.0, x * 3.0});
  }

 private:
  bool named_;
};

Tensor ones(const Shape& shape) { return Tensor::full(shape, 1.0); }

// Keras: out = Multiples()(x) is a list of three; Model(x, out) has three outputs, Model(x, out[1]) one.
TEST(SymbolicOutputs, HoldAllOutputsOfALayer) {
  const SymbolicTensor x = Input({2});
  auto out = make<Multiples>()(x);
  ASSERT_EQ(out.size(), 3u);
  Model all(x, out);
  const Element results = all.apply(ones({1, 2}), {});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[2].leaf().to_vector<float>(), (std::vector<float>{3, 3}));
  Model second(x, out[1]);
  EXPECT_EQ(second(ones({1, 2})).to_vector<float>(), (std::vector<float>{2, 2}));
  const std::vector<SymbolicTensor> list = out;
  EXPECT_EQ(list.size(), 3u);
  int seen = 0;
  for (const SymbolicTensor& each : out) EXPECT_EQ(each.output(), seen++);
  auto [once, twice, thrice] = out.unpack<3>();
  Model sum(x, once + twice + thrice);
  EXPECT_EQ(sum(ones({1, 2})).to_vector<float>(), (std::vector<float>{6, 6}));
}

TEST(SymbolicOutputs, AreTakenByNameWhereTheyHaveOne) {
  const SymbolicTensor x = Input({2});
  auto out = make<Multiples>(true)(x);
  Model twice(x, out["twice"]);
  EXPECT_EQ(twice(ones({1, 2})).to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_NE(error_of([&] { out["thrice"]; }).find("name=thrice"), std::string::npos);
}

TEST(SymbolicOutputs, AreNoSymbolWhereThereAreSeveral) {
  const SymbolicTensor x = Input({2});
  auto out = make<Multiples>()(x);
  const std::string text = error_of([&] { const SymbolicTensor one = out; });
  EXPECT_NE(text.find("one output is expected"), std::string::npos) << text;
  EXPECT_NE(text.find("outputs=3"), std::string::npos) << text;
  EXPECT_FALSE(error_of([&] { out + 1.0; }).empty());
  EXPECT_FALSE(error_of([&] { ops::exp(out); }).empty());
  EXPECT_FALSE(error_of([&] { out.shape(); }).empty());
  EXPECT_FALSE(error_of([&] { layers::Dense(2)(out); }).empty());  // a list of three, which Dense does not take
  EXPECT_FALSE(error_of([&] { out.unpack<2>(); }).empty());
  EXPECT_FALSE(error_of([&] { out[3]; }).empty());
  EXPECT_FALSE(error_of([&] { layers::Dense(2)(x)[0]; }).empty());
}

TEST(SymbolicOutputs, GoOnAsOneSymbolWhereThereIsOne) {
  const SymbolicTensor input = Input({2});
  auto x = make<Multiples>()(input)[0];
  x = x + 1.0;
  x = x * x + 2.0 * x - ones({2});
  x = layers::Activation("linear")(x);
  auto y = layers::Activation("relu")(x);
  y = layers::Concatenate()({x, y});
  y = ops::concatenate({x, y}, -1);
  y = ops::where(y > 100.0, y, -y);
  EXPECT_EQ(y.shape(), (Shape{kUnknown, 6}));
  Model model(input, y);
  EXPECT_EQ(model(ones({1, 2})).to_vector<float>(), (std::vector<float>(6, -7.0f)));
  const bool narrow = true;
  const SymbolicTensor chosen = narrow ? layers::Dense(1)(y) : layers::Dense(9)(y);
  EXPECT_EQ(chosen.shape(), (Shape{kUnknown, 1}));
  const SymbolicTensor mixed = narrow ? chosen : layers::Dense(9)(y);
  EXPECT_EQ(mixed.shape(), (Shape{kUnknown, 1}));
}

TEST(SymbolicOutputs, OfAListFeedALayerThatTakesOne) {
  const SymbolicTensor x = Input({2});
  Model model(x, layers::Concatenate()(make<Multiples>()(x)));
  EXPECT_EQ(model(ones({1, 2})).to_vector<float>(), (std::vector<float>{1, 1, 2, 2, 3, 3}));
}

// Keras: LSTM(3, return_state=True)(x) is [output, h, c].
TEST(SymbolicOutputs, OfARecurrentLayerAreItsOutputAndStates) {
  const SymbolicTensor x = Input({4, 2});
  auto [output, h, c] = layers::LSTM(3, {.return_state = true})(x).unpack<3>();
  Model model(x, {output, h, c});
  const Element results = model.apply(ones({2, 4, 2}), {});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].leaf().to_vector<float>(), results[1].leaf().to_vector<float>());
  EXPECT_NE(results[1].leaf().to_vector<float>(), results[2].leaf().to_vector<float>());
  EXPECT_EQ(layers::LSTM(3)(x).shape(), (Shape{kUnknown, 3}));
}

TEST(SymbolicOutputs, OfAModelAreAllOfIts) {
  const SymbolicTensor x = Input({2});
  auto inner = make<Model>(Symbols(x), Symbols({x * 2.0, x * 3.0}));
  const SymbolicTensor y = Input({2});
  auto outputs = inner(y);
  ASSERT_EQ(outputs.size(), 2u);
  Model outer(y, outputs[0] + outputs[1]);
  EXPECT_EQ(outer(ones({1, 2})).to_vector<float>(), (std::vector<float>{5, 5}));
  EXPECT_EQ(inner.output().size(), 2u);
  EXPECT_EQ((*model_from_json(model_to_json(outer)))(ones({1, 2})).to_vector<float>(), (std::vector<float>{5, 5}));
}

TEST(SymbolicOutputs, OfAttentionHoldTheScoresThatWereAskedFor) {
  const SymbolicTensor x = Input({4, 6});
  auto outputs = layers::MultiHeadAttention(2, 3)(x, x, {.return_attention_scores = true});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1].shape(), (Shape{kUnknown, 2, 4, 4}));
  EXPECT_EQ(layers::MultiHeadAttention(2, 3)(x, x).shape(), (Shape{kUnknown, 4, 6}));
}

}  // namespace
}  // namespace cohort
