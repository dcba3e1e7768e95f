// A generative adversarial network: two models trained against each other in one step, each with its own optimizer.
// Usage: gan [--smoke]
#include <cohort/cohort.h>

#include <iostream>

#include "example_data.h"

namespace ch = cohort;
namespace layers = cohort::layers;
namespace ops = cohort::ops;

namespace {

class Gan : public ch::Model {
 public:
  explicit Gan(std::int64_t features)
      : features_(features),
        critic_(track("critic", ch::make<ch::Sequential>({layers::Flatten(), layers::Dense(64), layers::LeakyReLU(),
                                                          layers::Dropout(0.3), layers::Dense(1)}))),
        generator_(track("generator", ch::make<ch::Sequential>({layers::Dense(64, {.activation = "relu"}),
                                                                layers::Dense(28 * 28, {.activation = "sigmoid"}),
                                                                layers::Reshape({28, 28})}))) {
    track_metric(critic_loss_);
    track_metric(generator_loss_);
  }

  ch::Tensor call(const ch::Tensor& noise, const ch::CallContext&) override { return generator_(noise); }

  void train_step(const ch::Element& data) override {
    const ch::Tensor real = ch::unpack_x_y_sample_weight(data).x.leaf();
    // As many rows of noise as there are images, whatever the batch's size.
    const ch::Tensor rows = ops::sum(real, {1, 2}, ops::keep_dims);
    const ch::Tensor noise =
        ops::random_normal_like(ops::repeat(ops::reshape(rows, {-1, 1}), static_cast<int>(features_), 1));
    {
      ch::GradientTape tape;
      const ch::Tensor on_real = critic_(real, {.training = true});
      const ch::Tensor on_made = critic_(generator_(noise, {.training = true}), {.training = true});
      const ch::Tensor loss = ops::mean(ops::sigmoid_cross_entropy(on_real, ops::ones_like(on_real))) +
                              ops::mean(ops::sigmoid_cross_entropy(on_made, ops::zeros_like(on_made)));
      const ch::Variables variables = critic_->trainable_variables();
      // Scaled where the optimizer says so, as compile's does under mixed_float16; apply() undoes it.
      critic_optimizer_.apply(tape.gradient(critic_optimizer_->scale_loss(loss), variables), variables);
      critic_loss_.update_state(loss);
    }
    ch::GradientTape tape;
    const ch::Tensor on_made = critic_(generator_(noise, {.training = true}), {.training = true});
    const ch::Tensor loss = ops::mean(ops::sigmoid_cross_entropy(on_made, ops::ones_like(on_made)));
    const ch::Variables variables = generator_->trainable_variables();
    optimizer()->apply(tape.gradient(optimizer()->scale_loss(loss), variables), variables);
    generator_loss_.update_state(loss);
  }

 private:
  std::int64_t features_;
  ch::LayerHandle<ch::Sequential> critic_, generator_;
  ch::optimizers::Adam critic_optimizer_{2e-4, {.beta_1 = 0.5}};
  ch::metrics::Mean critic_loss_{{.name = "critic_loss"}}, generator_loss_{{.name = "generator_loss"}};
};

}  // namespace

int main(int count, char** values) {
  const bool smoke = example::is_smoke(count, values);
  ch::set_random_seed(1);
  auto [train, test] = example::images(smoke);
  const ch::Dataset images =
      train.map([](ch::Tensor image, ch::Tensor) { return ch::Element(ops::cast(image, ch::DType::Float32) / 255.0); });
  Gan model(16);
  model.compile({.optimizer = ch::optimizers::Adam(2e-4, {.beta_1 = 0.5})});
  const ch::History history =
      model.fit(images.shuffle(60000).batch(32), {.epochs = smoke ? 5 : 20, .verbose = smoke ? 0 : 1});
  std::cout << "Losses: " << history["critic_loss"].back() << " " << history["generator_loss"].back() << "\n";
  std::cout << "Made: " << model.predict(ops::random_normal({2, 16}), {.verbose = 0}).shape() << "\n";
}
