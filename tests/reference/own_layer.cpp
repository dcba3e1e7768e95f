// A layer of one's own: weights, layers inside it, a penalty, a difference in training; saved and loaded by its name.
#include <cohort/cohort.h>

#include "check.h"

namespace ch = cohort;
namespace ops = ch::ops;

// x + gate * projection(hidden(x)), the gate a weight that begins at zero; noisy in training.
class GatedResidual : public ch::Layer {
 public:
  explicit GatedResidual(std::int64_t units = 8, double penalty = 0.0) : units_(units), penalty_(penalty) {}
  void visit_fields(ch::FieldVisitor& visitor) override {
    Layer::visit_fields(visitor);
    visitor.field("units", units_);
    visitor.field("penalty", penalty_);
  }
  void build(const ch::Shape& input) override {
    hidden_ = track("hidden", ch::layers::Dense(units_, {.activation = "gelu"}));
    projection_ = track("projection", ch::layers::Dense(input.back()));
    gate_ = add_weight("gate", {input.back()}, {.initializer = "zeros"});
  }
  ch::Tensor call(const ch::Tensor& x, const ch::CallContext& context) override {
    ch::Tensor y = projection_(hidden_(x));
    if (context.training) y = y + ops::random_normal_like(y, 0.0, 0.01);
    add_loss(penalty_ * ops::sum(ops::square(gate_)));
    return x + gate_ * y;
  }

 private:
  std::int64_t units_;
  double penalty_;
  ch::layers::Dense hidden_{1}, projection_{1};
  ch::Variable gate_;
};
COHORT_REGISTER_LAYER("programs", GatedResidual);

int main() {
  ch::set_random_seed(5);
  const ch::Tensor x = ops::random_normal({128, 4});
  const ch::Tensor y = x + ops::square(x);

  auto block = ch::make<GatedResidual>(32, 1e-3);
  ch::Sequential model({block});
  model.compile({.optimizer = ch::optimizers::Adam(2e-2), .loss = "mse"});
  model.build({ch::kUnknown, 4});
  check(block->trainable_variables().size() == 5, "the gate and both layers' weights are trained");
  check(ops::all(ops::equal(model(x), x)).item<bool>(), "with a closed gate the layer is the identity");

  const ch::History history = model.fit(x, y, {.batch_size = 16, .epochs = 25, .verbose = 0});
  check(history["loss"].back() < 0.3 * history["loss"].front(), "the loss falls");
  const ch::Tensor penalized = block(x);
  const ch::Tensors penalties = block->losses();
  check(penalized.shape() == x.shape() && penalties.size() == 1, "a call leaves its penalty");
  check(penalties.front().item<double>() > 0.0, "which an open gate pays");

  model.save("own_layer.keras");
  const ch::Ref<ch::Model> loaded = ch::load_model("own_layer.keras");
  const ch::Tensor difference = loaded->predict(x, {.verbose = 0}) - model.predict(x, {.verbose = 0});
  check(ops::max(ops::abs(difference)).item<double>() == 0.0, "the loaded model predicts the same");
  check(loaded->layers().front().as<GatedResidual>().get() != nullptr, "its layer is one of the class");
}
