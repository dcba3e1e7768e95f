// Masks travel from the layer that makes them to the loss and the metrics. The figures are Keras 3.15's, of
//   x = np.array([[[1, 2], [3, -1], [0, 0]], [[0.5, 1], [0, 0], [0, 0]]], "float32")
//   y = np.array([[[1], [2], [3]], [[4], [5], [6]]], "float32")
//   w = np.array([[2, 0.5, 1], [3, 1, 1]], "float32")
//   dense = lambda: Dense(1, kernel_initializer=Constant(0.5), bias_initializer="ones")
//   m = keras.Sequential([keras.Input((3, 2)), Masking(), dense()])
//   m.compile("sgd", "mse", metrics=["mae", RootMeanSquaredError(name="rmse")], weighted_metrics=["mse"])
//   m.evaluate(x, y, return_dict=True); m.evaluate(x, y, sample_weight=w, return_dict=True)
// and of the models that each test names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/autodiff/tape.h"
#include "cohort/core/masks.h"
#include "cohort/layers/layers.h"
#include "cohort/losses/losses.h"
#include "cohort/metrics/metrics.h"
#include "cohort/ops/reduce.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/initializers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using layers::Add;
using layers::Concatenate;
using layers::Dense;
using layers::Masking;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor batch() { return Tensor::of<float>({1, 2, 3, -1, 0, 0, 0.5, 1, 0, 0, 0, 0}, {2, 3, 2}); }
Tensor other_batch() { return Tensor::of<float>({0, 0, 1, 1, 2, 1, 0, 0, 0, 0, 1, 3}, {2, 3, 2}); }
Tensor masked_targets() { return Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3, 1}); }
Tensor step_weights() { return Tensor::of<float>({2, 0.5, 1, 3, 1, 1}, {2, 3}); }
Tensor steps_of(std::initializer_list<bool> steps) { return Tensor::of<bool>(steps, {2, 3}); }

Dense dense() { return Dense(1, {.kernel_initializer = initializers::Constant(0.5), .bias_initializer = "ones"}); }

template <class F>
std::string refusal_of(F run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument) << error.what();
    return error.what();
  }
  return "no error";
}

class Masks : public ::testing::TestWithParam<bool> {};  // run_eagerly
INSTANTIATE_TEST_SUITE_P(Modes, Masks, ::testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Eager" : "Traced"; });

TEST_P(Masks, ReachLossAndMetricsOfASequential) {
  Sequential model({Masking(), dense()});
  model.compile({.optimizer = optimizers::SGD(0.1),
                 .loss = "mse",
                 .metrics = {"mae", metrics::RootMeanSquaredError({.name = "rmse"})},
                 .weighted_metrics = {"mse"},
                 .run_eagerly = GetParam()});
  const Logs plain = model.evaluate(batch(), masked_targets(), {.verbose = 0});
  EXPECT_NEAR(plain.at("loss"), 2.4375, 1e-6);
  EXPECT_NEAR(plain.at("mae"), 1.25, 1e-6);
  EXPECT_NEAR(plain.at("mse"), 2.4375, 1e-6);
  EXPECT_NEAR(plain.at("rmse"), 2.9527530, 1e-6);  // in Keras this one looks at no mask
  const Logs weighted = model.evaluate(batch(), masked_targets(), {.verbose = 0, .sample_weight = step_weights()});
  EXPECT_NEAR(weighted.at("loss"), 6.5625, 1e-6);
  EXPECT_NEAR(weighted.at("mae"), 1.25, 1e-6);
  EXPECT_NEAR(weighted.at("mse"), 3.5795455, 1e-6);
  // m.fit(x, y) with SGD(0.1); m.get_weights()
  model.fit(batch(), masked_targets(), {.verbose = 0});
  EXPECT_THAT(testing_models::all_weights(model),
              ElementsAre(::testing::FloatEq(0.475f), ::testing::FloatEq(0.45f), ::testing::FloatEq(1.05f)));
}

TEST_P(Masks, FollowTheLossesReduction) {
  const auto losses_of = [](const char* reduction) {
    Sequential model({Masking(), dense()});
    model.compile({.loss = losses::MeanSquaredError({.reduction = reduction}), .run_eagerly = GetParam()});
    return std::pair(
        model.evaluate(batch(), masked_targets(), {.verbose = 0}).at("loss"),
        model.evaluate(batch(), masked_targets(), {.verbose = 0, .sample_weight = step_weights()}).at("loss"));
  };
  EXPECT_NEAR(losses_of("sum").first, 7.3125, 1e-5);
  EXPECT_NEAR(losses_of("sum").second, 19.6875, 1e-5);
  EXPECT_NEAR(losses_of("mean_with_sample_weight").first, 2.4375, 1e-6);
  EXPECT_NEAR(losses_of("mean_with_sample_weight").second, 3.5795455, 1e-6);
}

// b = np.array([[[0, 0], [1, 1], [2, 1]], [[0, 0], [0, 0], [1, 3]]]); ia, ib = Input((3, 2)), Input((3, 2))
// ma, mb = Masking()(ia), Masking()(ib)
TEST_P(Masks, AreMergedInAFunctionalModel) {
  const SymbolicTensor a = Input({3, 2}), b = Input({3, 2});
  const SymbolicTensor masked_a = Masking()(a), masked_b = Masking()(b);
  const auto evaluated = [&](const SymbolicTensor& merged, const Tensor& y) {
    Model model({a, b}, dense()(merged));
    model.compile({.loss = "mse", .metrics = {"mae"}, .run_eagerly = GetParam()});
    const Logs logs = model.evaluate({batch(), other_batch()}, y, {.verbose = 0});
    return std::pair(logs.at("loss"), logs.at("mae"));
  };
  const auto both = evaluated(Add()({masked_a, masked_b}), masked_targets());  // dense()(Add()([ma, mb]))
  EXPECT_NEAR(both.first, 3.5125, 1e-6);
  EXPECT_NEAR(both.second, 1.65, 1e-6);
  const auto one = evaluated(Add()({masked_a, b}), masked_targets());  // dense()(Add()([ma, ib])): no mask
  EXPECT_NEAR(one.first, 5.59375, 1e-6);
  EXPECT_NEAR(one.second, 2.0416665, 1e-6);
  // dense()(Concatenate(axis=1)([ma, ib])) with np.concatenate([y, y + 1], 1)
  const Tensor long_y = Tensor::of<float>({1, 2, 3, 2, 3, 4, 4, 5, 6, 5, 6, 7}, {2, 6, 1});
  const auto joined = evaluated(Concatenate({.axis = 1})({masked_a, b}), long_y);
  EXPECT_NEAR(joined.first, 7.6180558, 1e-5);
  EXPECT_NEAR(joined.second, 2.25, 1e-6);
}

// keras.Model([ia, ib], [dense()(Add()([ma, mb])), dense()(Add()([ma, ib]))]) with losses ["mse", "mae"]
TEST_P(Masks, BelongToOneOutputEach) {
  const SymbolicTensor a = Input({3, 2}), b = Input({3, 2});
  const SymbolicTensor masked_a = Masking()(a), masked_b = Masking()(b);
  Dense first = dense(), second = dense();
  first->set_name("first");
  second->set_name("second");
  Model model({a, b}, {first(Add()({masked_a, masked_b})), second(Add()({masked_a, b}))});
  model.compile({.loss = {{"first", "mse"}, {"second", "mae"}}, .run_eagerly = GetParam()});
  const Logs logs = model.evaluate({batch(), other_batch()}, {masked_targets(), masked_targets()}, {.verbose = 0});
  EXPECT_NEAR(logs.at("first_loss"), 3.5125, 1e-6);
  EXPECT_NEAR(logs.at("second_loss"), 2.0416667, 1e-6);
  EXPECT_NEAR(logs.at("loss"), 5.5541668, 1e-6);
}

// A model that calls its layers in code hands nothing on by itself.
class InCode : public Model {
 public:
  Tensor call(const Tensor& x, const CallContext&) override { return dense_(masking_(x)); }

 private:
  Masking masking_ = track("masking", Masking());
  Dense dense_ = track("dense", dense());
};

TEST_P(Masks, PassThroughModelsInCodeAndInsideEachOther) {
  InCode in_code;
  in_code.compile({.loss = "mse", .metrics = {"mae"}, .run_eagerly = GetParam()});
  const Logs logs = in_code.evaluate(batch(), masked_targets(), {.verbose = 0});
  EXPECT_NEAR(logs.at("loss"), 2.4375, 1e-6);
  EXPECT_NEAR(logs.at("mae"), 1.25, 1e-6);
  Sequential nested({make<Sequential>({Masking()}), dense()});
  nested.compile({.loss = "mse", .run_eagerly = GetParam()});
  EXPECT_NEAR(nested.evaluate(batch(), masked_targets(), {.verbose = 0}).at("loss"), 2.4375, 1e-6);
}

// keras.Sequential([keras.Input((3, 2)), Masking()]) on np.array([[1, 0, 1], [0, 1, 1]])
TEST_P(Masks, CountInAccuracyAndCrossentropy) {
  Sequential model({Masking()});
  model.compile({.loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"},
                 .run_eagerly = GetParam()});
  const Tensor classes = Tensor::of<std::int32_t>({1, 0, 1, 0, 1, 1}, {2, 3});
  const Logs logs = model.evaluate(batch(), classes, {.verbose = 0});
  EXPECT_NEAR(logs.at("loss"), 0.43516287, 1e-6);
  EXPECT_NEAR(logs.at("accuracy"), 0.6666667, 1e-6);
}

TEST_P(Masks, KeepMaskedStepsOutOfTheGradient) {
  const auto trained = [](const Tensor& y) {
    Sequential model({Masking(), dense()});
    model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse", .run_eagerly = GetParam()});
    model.fit(batch(), y, {.epochs = 3, .verbose = 0});
    return testing_models::all_weights(model);
  };
  EXPECT_EQ(trained(masked_targets()), trained(Tensor::of<float>({1, 2, -50, 4, 1e6, 7}, {2, 3, 1})));
  EXPECT_NE(trained(masked_targets()), trained(Tensor::of<float>({1, -2, 3, 4, 5, 6}, {2, 3, 1})));
}

TEST(MasksOfTapes, ReachALossComputedByHand) {
  Sequential model({Masking(), dense()});
  losses::MeanSquaredError loss;
  const Tensor x = batch();
  GradientTape tape;
  tape.watch(x);
  const Tensor value = loss(masked_targets(), model(x));
  EXPECT_NEAR(value.item<float>(), 2.4375, 1e-6);
  const std::vector<float> dx = tape.gradient(value, x).to_vector<float>();
  for (std::size_t step : {2, 4, 5}) {
    EXPECT_EQ(dx[2 * step], 0.0f);
    EXPECT_EQ(dx[2 * step + 1], 0.0f);
  }
  EXPECT_NE(dx[0], 0.0f);
}

TEST(MasksOfTensors, AreForgottenWithTheLastScope) {
  const Tensor x = batch();
  const Tensor outside = Masking()(x);
  EXPECT_FALSE(mask_of(outside).defined());
  MaskScope scope;
  const Tensor inside = Masking()(x);
  EXPECT_THAT(mask_of(inside).to_vector<int>(), ElementsAre(1, 1, 0, 1, 0, 0));
  EXPECT_FALSE(mask_of(x).defined());
  EXPECT_FALSE(mask_of(inside + 1.0).defined());
  EXPECT_THAT(mask_of(Masking(3.0)(x)).to_vector<int>(), ElementsAre(1, 1, 1, 1, 1, 1));
}

// [L.Add()([...])._keras_mask for the same inputs]
TEST(MasksOfTensors, MergeAsInKeras) {
  MaskScope scope;
  const Tensor a = Masking()(batch()), b = Masking()(other_batch()), plain = other_batch();
  EXPECT_THAT(mask_of(Add()(Tensors{a, b})).to_vector<int>(), ElementsAre(1, 1, 1, 1, 0, 1));
  EXPECT_FALSE(mask_of(Add()(Tensors{a, plain})).defined());
  EXPECT_THAT(mask_of(Concatenate()(Tensors{a, plain})).to_vector<int>(), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(mask_of(Concatenate({.axis = 1})(Tensors{a, plain})).to_vector<int>(),
              ElementsAre(1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1));
  EXPECT_FALSE(mask_of(Concatenate()(Tensors{plain, plain})).defined());
}

// Sums the steps of its inputs that count.
class MaskedSums : public Layer {
 public:
  void build_many(const std::vector<Shape>&) override {}
  Tensor call_many(const Tensors& inputs, const CallContext& context) override {
    seen = {context.mask[0].leaf().defined(), context.mask[1].leaf().defined()};
    Tensor sum;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& mask = context.mask[i].leaf();
      const Tensor steps = ops::sum(inputs[i], -1);
      const Tensor own = ops::sum(mask.defined() ? steps * ops::cast(mask, DType::Float32) : steps, -1);
      sum = sum.defined() ? sum * 100.0 + own : own;
    }
    return sum;
  }
  std::vector<bool> seen;
};

TEST(MasksOfInputs, AreSeenByALayerOfTwo) {
  auto sums = make<MaskedSums>();
  const Tensor ones = Tensor::full({2, 3, 1}, 1.0);
  const Tensor left = steps_of({true, true, false, true, false, false});
  const Tensor right = steps_of({true, false, false, true, true, true});
  EXPECT_THAT(sums(Tensors{ones, ones}, {.mask = Element::tuple({left, right})}).to_vector<float>(),
              ElementsAre(201, 103));
  EXPECT_THAT(sums(Tensors{ones, ones}, {.mask = Element::tuple({Tensor(), right})}).to_vector<float>(),
              ElementsAre(301, 303));
  EXPECT_THAT(sums->seen, ElementsAre(false, true));

  const SymbolicTensor a = Input({3, 1}), b = Input({3, 1});
  Model made({a, b}, sums({Masking()(a), Masking()(b)}));
  const Tensor zero_last = Tensor::of<float>({1, 1, 0, 1, 1, 0}, {2, 3, 1});
  EXPECT_THAT(made(Tensors{ones, zero_last}).to_vector<float>(), ElementsAre(302, 302));
  EXPECT_THAT(sums->seen, ElementsAre(true, true));

  // One tensor for both inputs may have two masks; they reach the inputs by name too.
  Model given({{"a", a}, {"b", b}}, sums({a, b}));
  EXPECT_THAT(
      given.apply(Element::tuple({ones, ones}), {.mask = Element::tuple({left, right})}).leaf().to_vector<float>(),
      ElementsAre(201, 103));
  const Element named = Element::dict({{"b", ones}, {"a", ones}});
  EXPECT_THAT(given.apply(named, {.mask = Element::dict({{"b", right}, {"a", left}})}).leaf().to_vector<float>(),
              ElementsAre(201, 103));
}

// Says it supports masks, and leaves a mask that no longer fits.
class LastStep : public Layer {
 public:
  LastStep() { supports_masking_ = true; }
  Tensor call(const Tensor& x, const CallContext&) override { return ops::sum(x, 1); }
};

TEST(MasksOfInputs, OfTheWrongShapeAreRefused) {
  const Tensor x = batch();
  Dense layer = dense();
  layer->set_name("scores");
  EXPECT_THAT(refusal_of([&] {
                layer(x, {.mask = Tensor::full({2, 4}, 1.0, DType::Bool)});
              }),
              AllOf(HasSubstr("Dense 'scores': a mask must have the leading axes of its input"),
                    HasSubstr("mask.shape=(2, 4)"), HasSubstr("input.shape=(2, 3, 2)")));
  const Tensor steps = steps_of({true, true, true, true, true, true});
  EXPECT_THAT(refusal_of([&] {
                layer(x, {.mask = Element::tuple({steps, steps})});
              }),
              HasSubstr("a mask for each input is expected"));
  EXPECT_THAT(refusal_of([&] {
                Add()(Tensors{x, x}, {.mask = steps});
              }),
              HasSubstr("a mask for each input is expected"));

  Sequential weighted({Masking(), dense()});
  weighted.compile({.loss = "mse"});
  const auto fit = [&](const Tensor& weights) {
    weighted.fit(x, masked_targets(), {.verbose = 0, .sample_weight = weights});
  };
  EXPECT_THAT(refusal_of([&] { fit(Tensor::full({2}, 1.0)); }),
              AllOf(HasSubstr("sample_weight.shape=(None,)"), HasSubstr("(batch, 1)")));
  EXPECT_NO_THROW(fit(Tensor::full({2, 1}, 1.0)));

  Sequential model({Masking(), make<LastStep>()});
  model.compile({.loss = "mse"});
  EXPECT_THAT(
      refusal_of([&] {
        model.evaluate(x, Tensor::full({2, 2}, 1.0), {.verbose = 0});
      }),
      AllOf(HasSubstr("the mask of y_pred must have the shape of the loss's values"), HasSubstr("compute_mask")));
}

}  // namespace
}  // namespace cohort
