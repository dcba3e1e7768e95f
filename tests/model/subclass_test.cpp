#include <gtest/gtest.h>

#include "cohort/layers/core/dense.h"
#include "cohort/model/functional.h"
#include "cohort/model/layer/input_layer.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using layers::Dense;
using testing_models::line_x;
using testing_models::line_y;

class Residual : public Model {
 public:
  explicit Residual(std::int64_t units)
      : first_(track("first", Dense(units, {.activation = "tanh"}))), second_(track("second", Dense(1))) {}
  Tensor call(const Tensor& x, const CallContext&) override { return x + second_(first_(x)); }

 private:
  Dense first_, second_;
};

// A model of models, and a weight of its own.
class Tower : public Model {
 public:
  Tower() : blocks_{track("a", make<Residual>(4)), track("b", make<Residual>(3))} {}
  void build(const Shape&) override { gain_ = add_weight("gain", {1}, {.initializer = "ones"}); }
  Tensor call(const Tensor& x, const CallContext&) override { return blocks_[1](blocks_[0](x)) * gain_; }

 private:
  Layer::Handle<Residual> blocks_[2];
  Variable gain_;
};

TEST(Subclass, TracksLayersWeightsAndModels) {
  reset_layer_names();
  Tower model;
  model(line_x());
  std::vector<std::string> paths;
  for (const Variable& weight : model.weights()) paths.push_back(weight.path());
  EXPECT_EQ(paths.front(), "tower/gain");
  EXPECT_EQ(paths.back(), "tower/residual_1/dense_3/bias");
  EXPECT_EQ(paths.size(), 9u);
  EXPECT_EQ(model.layers().size(), 2u);
  EXPECT_EQ(model.get_layer("residual_1").as<Model>()->layers().size(), 2u);
}

TEST(Subclass, TrainsAndStandsInsideAFunctionalModel) {
  Tower alone;
  alone.compile({.optimizer = "sgd", .loss = "mse"});
  const History history = alone.fit(line_x(), line_y(), {.epochs = 10, .verbose = 0});
  EXPECT_LT(history["loss"].back(), history["loss"].front());

  const SymbolicTensor x = Input({1});
  auto tower = make<Tower>();
  Model model(x, Dense(1)(tower(x)));
  EXPECT_EQ(model.weights().size(), 11u);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const std::vector<float> before = testing_models::all_weights(*tower);
  model.fit(line_x(), line_y(), {.verbose = 0});
  EXPECT_NE(testing_models::all_weights(*tower), before);
}

TEST(Freezing, OfASubModelLeavesItAsItIs) {
  auto base = make<Sequential>({Dense(4, {.activation = "tanh"}), Dense(2)});
  const SymbolicTensor x = Input({1});
  const SymbolicTensor features = base(x);
  base->set_trainable(false);
  Model model(x, Dense(1)(features));
  EXPECT_EQ(model.trainable_variables().size(), 2u);
  EXPECT_EQ(model.non_trainable_variables().size(), 4u);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const std::vector<float> before = testing_models::all_weights(*base);
  model.fit(line_x(), line_y(), {.epochs = 3, .verbose = 0});
  EXPECT_EQ(testing_models::all_weights(*base), before);

  // Fine tuning: thawed, compiled again.
  base->set_trainable(true);
  base->get_layer(std::int64_t{0})->set_trainable(false);
  model.compile({.optimizer = optimizers::SGD(1e-2), .loss = "mse"});
  EXPECT_EQ(model.trainable_variables().size(), 4u);
  model.fit(line_x(), line_y(), {.epochs = 3, .verbose = 0});
  const std::vector<float> after = testing_models::all_weights(*base);
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 8, after.begin()));  // the frozen kernel and bias
  EXPECT_NE(after, before);
}

TEST(Freezing, AfterCompileTakesHoldWithTheNextCompile) {
  Sequential model({Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(line_x(), line_y(), {.verbose = 0});
  model.get_layer(std::int64_t{0})->set_trainable(false);
  const std::vector<float> before = testing_models::all_weights(model);
  model.fit(line_x(), line_y(), {.verbose = 0});  // Keras's step was traced before
  EXPECT_NE(testing_models::all_weights(model), before);
  const std::vector<float> frozen = testing_models::all_weights(model);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(line_x(), line_y(), {.verbose = 0});
  EXPECT_EQ(testing_models::all_weights(model), frozen);
}

TEST(Nested, SequentialAndFunctionalStandInEachOther) {
  const SymbolicTensor x = Input({1});
  auto functional = make<Model>(x, Dense(3)(x));
  auto sequential = make<Sequential>({functional, Dense(2)});
  const SymbolicTensor y = Input({1});
  Model model(y, Dense(1)(sequential(y)));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const History history = model.fit(line_x(), line_y(), {.epochs = 5, .verbose = 0});
  EXPECT_LT(history["loss"].back(), history["loss"].front());
  EXPECT_EQ(model.weights().size(), 6u);
}

TEST(Nested, DictInputsReachANestedModel) {
  const SymbolicTensor a = Input({1}), b = Input({1});
  auto inner = make<Model>(Symbols{{"left", a}, {"right", b}}, layers::Dense(1)(a));
  const SymbolicTensor x = Input({1});
  const SymbolicTensor y = inner->apply_symbols(Symbols{{"right", x}, {"left", x}}).leaf();
  Model model(x, y);
  EXPECT_EQ(model(line_x()).shape(), (Shape{10, 1}));
}

TEST(Features, ComeFromTheMiddleOfASequential) {
  Sequential stack({Ref<Layer>(std::make_shared<InputLayer>(Shape{1})), Dense(3, {.name = "first"}), Dense(2)});
  Model features(stack.inputs(), stack.get_layer("first")->output());
  EXPECT_EQ(features(line_x()).shape(), (Shape{10, 3}));
  EXPECT_EQ(features(line_x()).to_vector<float>(), (*stack.get_layer("first"))(line_x()).to_vector<float>());
  Model whole(stack.inputs(), stack.outputs());
  EXPECT_EQ(whole(line_x()).to_vector<float>(), stack(line_x()).to_vector<float>());
}

}  // namespace
}  // namespace cohort
