// What a user of the installed package writes: one include, a built-in layer, and a registered one of their own.
#include <cohort/cohort.h>

namespace ch = cohort;

class Scale : public ch::Layer {
 public:
  void build(const ch::Shape& input) override { gain_ = add_weight("gain", {input.back()}, {.initializer = "ones"}); }
  ch::Tensor call(const ch::Tensor& x, const ch::CallContext&) override { return x * gain_; }

 private:
  ch::Variable gain_;
};
COHORT_REGISTER_LAYER("mine", Scale);

int main() {
  ch::Sequential model({ch::make<Scale>(), ch::layers::Dense(10, {.activation = "relu"})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
}
