#include "cohort/model/layer/untracked.h"

#include <gtest/gtest.h>

#include "cohort/core/log.h"
#include "cohort/layers/layers.h"
#include "cohort/metrics/metrics.h"
#include "cohort/model/model.h"
#include "cohort/ops/ops.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using testing_models::line_x;
using testing_models::line_y;

// What is written to standard error meanwhile.
template <class Action>
std::string warnings_of(const Action& action) {
  testing::internal::CaptureStderr();
  action();
  return testing::internal::GetCapturedStderr();
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class Outer : public Layer {
 public:
  explicit Outer(bool tracks) : inner_(1, {.name = "inner"}) {
    if (tracks) track("inner", inner_);
  }
  Tensor call(const Tensor& x, const CallContext&) override { return inner_(x); }

 private:
  layers::Dense inner_;
};

TEST(Untracked, LayersAreWarnedOfOnceByName) {
  auto outer = make<Outer>(false);
  const std::string text = warnings_of([&] {
    outer(line_x());
    outer(line_x());
  });
  EXPECT_EQ(count_of(text, "Dense 'inner'"), 1) << text;
  EXPECT_NE(text.find("nobody tracks it"), std::string::npos) << text;
  auto tracking = make<Outer>(true);
  EXPECT_EQ(warnings_of([&] { tracking(line_x()); }), "");
  layers::Dense alone(1);
  EXPECT_EQ(warnings_of([&] { alone(line_x()); }), "");
}

TEST(Untracked, LayersOfATrainedModelAreWarnedOfOnceInAll) {
  const SymbolicTensor x = Input({1});
  Model model(x, make<Outer>(false)(layers::Dense(1)(x)));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const std::string text = warnings_of([&] {
    model.fit(line_x(), line_y(), {.epochs = 2, .verbose = 0});
    model.predict(line_x(), {.verbose = 0});
  });
  EXPECT_EQ(count_of(text, "track"), 0) << text;  // warned of when the model was made
}

// Counts a metric and trains a factor of its own; tracks them or not.
class Stepper : public Model {
 public:
  Stepper(const std::string& name, bool tracks) : seen_({.name = name + "_seen"}) {
    set_name(name);
    dense_ = track("dense", layers::Dense(1));
    factor_ = tracks ? add_weight("factor", {}) : Variable(Tensor::scalar(1.0), {.path = name + "_factor"});
    if (tracks) track_metric(seen_);
  }
  Tensor call(const Tensor& x, const CallContext&) override { return dense_(x) * factor_; }
  void train_step(const Element& data) override {
    Model::train_step(data);
    seen_.update_state(ops::mean(data[0].leaf()));
  }

 private:
  LayerHandle<layers::DenseLayer> dense_;
  metrics::Mean seen_;
  Variable factor_;
};

TEST(Untracked, MetricsAndVariablesOfAStepAreWarnedOfOnceByName) {
  Stepper model("careless", false);
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
  const std::string text = warnings_of([&] {
    model.fit(line_x(), line_y(), {.epochs = 2, .verbose = 0});
    model.fit(line_x(), line_y(), {.epochs = 1, .verbose = 0});
    model.evaluate(line_x(), line_y(), {.verbose = 0});
  });
  EXPECT_EQ(count_of(text, "Metric 'careless_seen'"), 1) << text;
  EXPECT_EQ(count_of(text, "Variable 'careless_factor'"), 1) << text;
  EXPECT_EQ(count_of(text, "does not track it"), 2) << text;
}

TEST(Untracked, NothingIsSaidOfWhatIsTracked) {
  Stepper model("careful", true);
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  const std::string text = warnings_of([&] {
    model.fit(line_x(), line_y(), {.epochs = 2, .verbose = 0});
    model.evaluate(line_x(), line_y(), {.verbose = 0});
  });
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace cohort
