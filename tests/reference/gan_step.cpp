// A GAN's step: a model with two optimizers and a train_step of its own, trained by fit.
#include <cohort/cohort.h>

#include <cmath>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;
namespace ops = ch::ops;

class Gan : public ch::Model {
 public:
  Gan() {
    track_metric(generator_loss_);
    track_metric(discriminator_loss_);
  }
  ch::Tensor call(const ch::Tensor& noise, const ch::CallContext&) override { return generator_(noise); }

  void train_step(const ch::Element& data) override {
    const ch::Tensor real = ch::unpack_x_y_sample_weight(data).x.leaf();
    {
      const ch::Tensor fake = generator_(ops::random_normal_like(real), {.training = true});
      ch::GradientTape tape;
      const ch::Tensor on_real = discriminator_(real, {.training = true});
      const ch::Tensor on_fake = discriminator_(fake, {.training = true});
      const ch::Tensor loss =
          (crossentropy_(ops::ones_like(on_real), on_real) + crossentropy_(ops::zeros_like(on_fake), on_fake)) / 2.0;
      const ch::Variables weights = discriminator_->trainable_variables();
      discriminator_optimizer_.apply(tape.gradient(loss, weights), weights);
      discriminator_loss_.update_state(loss);
    }
    ch::GradientTape tape;
    const ch::Tensor fake = generator_(ops::random_normal_like(real), {.training = true});
    const ch::Tensor on_fake = discriminator_(fake, {.training = true});
    const ch::Tensor loss = crossentropy_(ops::ones_like(on_fake), on_fake);
    const ch::Variables weights = generator_->trainable_variables();
    generator_optimizer_.apply(tape.gradient(loss, weights), weights);
    generator_loss_.update_state(loss);
  }

 private:
  ch::LayerHandle<ch::Sequential> generator_ =
      track("generator", ch::make<ch::Sequential>({layers::Dense(16, {.activation = "relu"}), layers::Dense(1)}));
  ch::LayerHandle<ch::Sequential> discriminator_ =
      track("discriminator", ch::make<ch::Sequential>({layers::Dense(16, {.activation = "relu"}), layers::Dense(1)}));
  ch::losses::BinaryCrossentropy crossentropy_{{.from_logits = true}};
  ch::optimizers::Adam generator_optimizer_{2e-3}, discriminator_optimizer_{2e-2};
  ch::metrics::Mean generator_loss_{{.name = "generator_loss"}}, discriminator_loss_{{.name = "discriminator_loss"}};
};

int main() {
  ch::set_random_seed(4);
  const ch::Tensor real = ops::random_normal({512, 1}, 4.0, 0.5);
  const ch::Tensor noise = ops::random_normal({256, 1});
  Gan gan;
  gan.compile();
  const double before = ops::mean(gan(noise)).item<double>();
  const ch::History history =
      gan.fit(ch::datasets::from_tensor_slices(real).shuffle(512).batch(64), {.epochs = 50, .verbose = 0});
  const double after = ops::mean(gan(noise)).item<double>();
  check(history.has("generator_loss") && history.has("discriminator_loss"), "fit reports both losses");
  check(std::abs(before - 4.0) > 3.0, "at first the samples lie elsewhere: " + std::to_string(before));
  check(std::abs(after - 4.0) < 1.0, "the samples have come to the data: " + std::to_string(after));
}
