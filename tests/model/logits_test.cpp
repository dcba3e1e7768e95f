#include "cohort/ops/logits.h"

#include <gtest/gtest.h>

#include "cohort/losses/losses.h"
#include "cohort/ops/nn.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using testing_models::all_weights;
using testing_models::Linear;

class Softmax : public Layer {
 public:
  Tensor call(const Tensor& x, const CallContext&) override { return ops::softmax(x); }
};
class Sigmoid : public Layer {
 public:
  Tensor call(const Tensor& x, const CallContext&) override { return ops::sigmoid(x); }
};

// A model so sure of the wrong class that its probability rounds to 0: only from the logits is there a way back.
TEST(Logits, ASureModelStillLearns) {
  const Tensor x = Tensor::full({2, 1}, 1.0);
  const auto loss_after = [&](std::vector<Ref<Layer>> layers, const char* loss, const Tensor& y, std::int64_t units) {
    Sequential model(layers);
    model.build({kUnknown, 1});
    std::vector<float> bias(static_cast<std::size_t>(units), 0.0f);
    bias[0] = 200.0f;
    model.set_weights({Tensor::full({1, units}, 0.0), Tensor::of(bias, {units})});
    model.compile({.optimizer = optimizers::SGD(0.1), .loss = loss});
    return model.fit(x, y, {.verbose = 0})["loss"][0];
  };
  EXPECT_NEAR(loss_after({make<Linear>(2), make<Softmax>()}, "sparse_categorical_crossentropy",
                         Tensor::of<std::int32_t>({1, 1}, {2}), 2),
              200.0, 1e-3);
  EXPECT_NEAR(loss_after({make<Linear>(2), make<Softmax>()}, "categorical_crossentropy",
                         Tensor::of<float>({0, 1, 0, 1}, {2, 2}), 2),
              200.0, 1e-3);
  EXPECT_NEAR(loss_after({make<Linear>(1), make<Sigmoid>()}, "binary_crossentropy", Tensor::full({2, 1}, 0.0), 1),
              200.0, 1e-3);
}

// The figures are Keras's for the same model: whichever of the two functions ends it, and whatever from_logits says.
TEST(Logits, NoActivationIsAppliedTwice) {
  const Tensor x = Tensor::of<float>({1, 3, 2, -1}, {2, 2});
  const Tensor one_hot = Tensor::of<float>({1, 0, 1, 0}, {2, 2}), classes = Tensor::of<std::int32_t>({0, 0}, {2});
  const auto evaluated = [&](const Ref<Layer>& last, const Ref<Loss>& loss, const Tensor& y, bool eager) {
    Sequential model({last});
    model.compile({.optimizer = "sgd", .loss = loss, .run_eagerly = eager});
    return model.evaluate(x, y, {.verbose = 0}).at("loss");
  };
  for (const Ref<Layer>& last : {Ref<Layer>(make<Softmax>()), Ref<Layer>(make<Sigmoid>())}) {
    for (const bool from_logits : {false, true}) {
      for (const bool eager : {false, true}) {
        EXPECT_NEAR(evaluated(last, losses::CategoricalCrossentropy({.from_logits = from_logits}), one_hot, eager),
                    1.0877577, 1e-6);
        EXPECT_NEAR(
            evaluated(last, losses::SparseCategoricalCrossentropy({.from_logits = from_logits}), classes, eager),
            1.0877577, 1e-6);
        EXPECT_NEAR(evaluated(last, losses::BinaryCrossentropy({.from_logits = from_logits}), one_hot, eager),
                    0.9505097, 1e-6);
      }
    }
  }
}

TEST(Logits, AreForgottenOutsideTheScope) {
  const Tensor logits = Tensor::of<float>({1, 2}, {1, 2});
  Tensor inside;
  {
    LogitsScope scope;
    inside = ops::softmax(logits);
    EXPECT_TRUE(logits_behind(inside).same_as(logits));
    EXPECT_TRUE(logits_behind(ops::softmax(logits, 0)).same_as(logits));
    EXPECT_TRUE(logits_behind(ops::sigmoid(logits)).same_as(logits));
    EXPECT_FALSE(logits_behind(logits).defined());
    EXPECT_FALSE(logits_behind(inside * 1.0).defined());
  }
  EXPECT_FALSE(logits_behind(inside).defined());
}

}  // namespace
}  // namespace cohort
