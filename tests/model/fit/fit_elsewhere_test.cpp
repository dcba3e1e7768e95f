#include <gtest/gtest.h>

#include "cohort/core/random.h"
#include "cohort/model/fit/strategy.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/variable_body.h"
#include "tests/model/small_models.h"
#include "tests/support/elsewhere.h"
#include "tests/support/same_products.h"

namespace cohort {
namespace {

using testing_models::all_weights;
using testing_models::Linear;

Tensor inputs() {
  std::vector<float> x;
  for (int i = 0; i < 60; ++i) x.push_back(0.1f * static_cast<float>((i * 7) % 11) - 0.5f);
  return Tensor::of(x, {12, 5});
}
Tensor targets() {
  std::vector<float> y;
  for (int i = 0; i < 12; ++i) y.push_back(static_cast<float>(i % 3));
  return Tensor::of(y, {12, 1});
}

struct Outcome {
  std::vector<float> weights, losses;
  std::string summary;
  std::size_t optimizer_variables = 0;
};

// Fits and predicts outside the scope in which the model was made.
Outcome fit_under(const std::shared_ptr<Strategy>& strategy, bool run_eagerly) {
  reset_layer_names();
  set_random_seed(5);
  std::unique_ptr<Sequential> model;
  {
    StrategyScope scope(strategy);
    model = std::make_unique<Sequential>(
        std::initializer_list<Ref<Layer>>{make<Linear>(4, "glorot_uniform"), make<Linear>(1, "he_normal")});
    model->compile(
        {.optimizer = optimizers::Adam(0.05), .loss = "mse", .metrics = {"mae"}, .run_eagerly = run_eagerly});
  }
  const History history =
      model->fit(inputs(), targets(), {.batch_size = 5, .epochs = 3, .verbose = 0, .validation_split = 0.25});
  Outcome run{all_weights(*model), {}, model->summary_text(), model->optimizer()->variables().size()};
  for (const char* name : {"loss", "mae", "val_loss"}) {
    for (double value : history[name]) run.losses.push_back(static_cast<float>(value));
  }
  for (float value : model->predict(inputs(), {.verbose = 0}).to_vector<float>()) run.losses.push_back(value);
  model->set_weights(model->get_weights());
  EXPECT_EQ(all_weights(*model), run.weights);
  EXPECT_EQ(model->count_params(), 5 * 4 + 4 + 4 + 1);
  return run;
}

class BatchCountingStrategy : public test::CreatorStrategy {
 public:
  using test::CreatorStrategy::CreatorStrategy;
  Element run_on_batch(Program& program, const Element& batch, const RandomState& random) override {
    ++batches;
    return Strategy::run_on_batch(program, batch, random);
  }
  int batches = 0;
};

TEST(FitElsewhere, EqualsLocalTraining) {
  for (bool run_eagerly : {false, true}) {
    const Outcome local = fit_under(nullptr, run_eagerly);
    test::Elsewhere place, other_place;
    test::Sharding here(2), far(3, &other_place);
    for (VariableCreator* creator : std::initializer_list<VariableCreator*>{&place, &here, &far}) {
      const Outcome other = fit_under(std::make_shared<test::CreatorStrategy>(*creator), run_eagerly);
      test::expect_same_training(other.weights, local.weights);
      test::expect_same_training(other.losses, local.losses);
      EXPECT_EQ(other.summary, local.summary);
      EXPECT_EQ(other.optimizer_variables, local.optimizer_variables);
    }
    EXPECT_EQ(place.made.size(), 2u + 4u + 8u);  // iteration and rate, weights, slots; no metrics
    EXPECT_GT(place.ops_run, 0);
  }
}

TEST(FitElsewhere, TheStrategyRunsBatchesThatAreGivenOneByOne) {
  test::Elsewhere place;
  const auto strategy = std::make_shared<BatchCountingStrategy>(place);
  StrategyScope scope(strategy);
  Sequential model({make<Linear>(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.train_on_batch(inputs(), targets());
  model.test_on_batch(inputs(), targets());
  model.predict_on_batch(inputs());
  EXPECT_EQ(strategy->batches, 3);
}

// A weight made by a direct call outside the scope still belongs to the model's strategy.
TEST(FitElsewhere, AModelCalledOutsideTheScopeBuildsInIt) {
  test::Elsewhere place;
  std::unique_ptr<Sequential> model;
  {
    StrategyScope scope(std::make_shared<test::CreatorStrategy>(place));
    model = std::make_unique<Sequential>(std::initializer_list<Ref<Layer>>{make<Linear>(4)});
  }
  (*model)(inputs());
  EXPECT_EQ(model->weights()[0].body()->owner(), &place);
  EXPECT_EQ(current_variable_creator(), nullptr);
}

TEST(FitElsewhere, AnOptimizerOfAnotherStrategyIsRefused) {
  test::Elsewhere place;
  const auto strategy = std::make_shared<test::CreatorStrategy>(place);
  Sequential local({make<Linear>()});
  const optimizers::SGD outside(0.1);
  StrategyScope scope(strategy);
  Sequential far({make<Linear>()});
  try {
    far.compile({.optimizer = outside, .loss = "mse"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("scope()"), std::string::npos) << error.what();
  }
  EXPECT_THROW(local.compile({.optimizer = "sgd", .loss = "mse"}), Error);
  EXPECT_NO_THROW(far.compile({.optimizer = "sgd", .loss = "mse"}));
  EXPECT_NO_THROW(local.compile({.optimizer = outside, .loss = "mse"}));
}

}  // namespace
}  // namespace cohort
