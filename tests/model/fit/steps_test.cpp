// Models whose steps are the user's own.
#include <gtest/gtest.h>

#include "cohort/autodiff/tape.h"
#include "cohort/data/unpack_data.h"
#include "cohort/ops/reduce.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using testing_models::all_weights;
using testing_models::line_x;
using testing_models::line_y;
using testing_models::Linear;

// A model that computes in code.
class Subclass : public Model {
 public:
  Subclass() : linear_(track("linear", make<Linear>())) {}
  Tensor call(const Tensor& x, const CallContext&) override { return linear_(x); }

 protected:
  Layer::Handle<Linear> linear_;
};

// Keras's own train step, written out by a user.
class OwnTrainStep : public Subclass {
 public:
  void train_step(const Element& data) override {
    ++traced;
    const auto [x, y, sample_weight] = unpack_x_y_sample_weight(data);
    GradientTape tape;
    const Tensor y_pred = (*this)(x.leaf(), {.training = true});
    const Tensor loss = ops::mean(ops::square(y_pred - y.leaf()));
    optimizer()->apply(tape.gradient(loss, trainable_variables()), trainable_variables());
    track_loss(loss, x);
  }
  int traced = 0;
};

TEST(OwnSteps, TrainStep) {
  OwnTrainStep own;
  Subclass plain;
  for (Model* model : {static_cast<Model*>(&own), static_cast<Model*>(&plain)}) {
    model->compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
    model->fit(line_x(), line_y(), {.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false});
  }
  EXPECT_EQ(own.traced, 1);  // the smaller last batch included
  const std::vector<float> a = all_weights(own), b = all_weights(plain);
  ASSERT_EQ(a.size(), 2u);
  EXPECT_NEAR(a[0], b[0], 1e-6);
  EXPECT_NEAR(a[1], b[1], 1e-6);
}

class OwnLoss : public Subclass {
 public:
  Tensor compute_loss(const Element&, const Element& y, const Element& y_pred, const Element&, bool training) override {
    const Tensor error = ops::mean(ops::abs(y.leaf() - y_pred.leaf()));
    return training ? error * 2.0 : error;
  }
};

TEST(OwnSteps, ComputeLoss) {
  OwnLoss model;
  model.compile({.optimizer = optimizers::SGD(0.0)});
  const History history = model.fit(line_x(), line_y(), {.batch_size = 10, .verbose = 0});
  const Logs logs = model.evaluate(line_x(), line_y(), {.verbose = 0});
  EXPECT_NEAR(history["loss"][0], 2 * 1.9, 1e-5);
  EXPECT_NEAR(logs["loss"], 1.9, 1e-5);
}

class OwnTestAndPredict : public Subclass {
 public:
  void test_step(const Element& data) override { track_loss(Tensor::scalar(42.0), unpack_x_y_sample_weight(data).x); }
  Element predict_step(const Element& data) override { return ops::negative(unpack_x_y_sample_weight(data).x.leaf()); }
};

TEST(OwnSteps, TestAndPredict) {
  OwnTestAndPredict model;
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_EQ(model.evaluate(line_x(), line_y(), {.verbose = 0})["loss"], 42.0);
  const std::vector<float> x = line_x().to_vector<float>();
  const std::vector<float> predicted = model.predict(line_x(), {.batch_size = 3, .verbose = 0}).to_vector<float>();
  ASSERT_EQ(predicted.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(predicted[i], -x[i]);
}

// A layer that treats training and inference differently.
class TrainingFlag : public Layer {
 public:
  Tensor call(const Tensor& x, const CallContext& context) override { return context.training ? x * 2.0 : x * 3.0; }
};

TEST(OwnSteps, TheTrainingFlagArrives) {
  Sequential model({make<TrainingFlag>()});
  const Tensor one = Tensor::full({1, 1}, 1.0);
  EXPECT_EQ(model(one).item<float>(), 3.0f);
  EXPECT_EQ(model(one, {.training = true}).item<float>(), 2.0f);
  EXPECT_EQ(model.predict(one, {.verbose = 0}).item<float>(), 3.0f);
}

TEST(OwnSteps, RecompilingTracesAnew) {
  Subclass model;
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse"});
  const double squared = model.fit(line_x(), line_y(), {.batch_size = 10, .verbose = 0})["loss"][0];
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mae"});
  const double absolute = model.fit(line_x(), line_y(), {.batch_size = 10, .verbose = 0})["loss"][0];
  EXPECT_NEAR(absolute, 1.9, 1e-5);
  EXPECT_NE(squared, absolute);
}

}  // namespace
}  // namespace cohort
