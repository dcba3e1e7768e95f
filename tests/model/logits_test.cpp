#include "cohort/losses/logits.h"

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

TEST(Logits, AreForgottenOutsideTheScope) {
  const Tensor logits = Tensor::of<float>({1, 2}, {1, 2});
  Tensor inside;
  {
    LogitsScope scope;
    inside = ops::softmax(logits);
    EXPECT_TRUE(logits_behind(inside, "Softmax").same_as(logits));
    EXPECT_FALSE(logits_behind(inside, "Sigmoid").defined());
    EXPECT_FALSE(logits_behind(logits, "Softmax").defined());
    EXPECT_FALSE(logits_behind(ops::softmax(logits, 0), "Softmax").defined());
  }
  EXPECT_FALSE(logits_behind(inside, "Softmax").defined());
}

}  // namespace
}  // namespace cohort
