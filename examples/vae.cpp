// A variational autoencoder: a model whose train_step is its own, with two losses that fit shows beside each other.
// Usage: vae [--smoke]
#include <cohort/cohort.h>

#include <iostream>

#include "example_data.h"

namespace ch = cohort;
namespace layers = cohort::layers;
namespace ops = cohort::ops;

namespace {

class Vae : public ch::Model {
 public:
  explicit Vae(std::int64_t features)
      : encoder_(
            track("encoder", ch::make<ch::Sequential>({layers::Flatten(), layers::Dense(64, {.activation = "relu"}),
                                                       layers::Dense(2 * features)}))),
        decoder_(track("decoder", ch::make<ch::Sequential>({layers::Dense(64, {.activation = "relu"}),
                                                            layers::Dense(28 * 28), layers::Reshape({28, 28})}))) {
    track_metric(restoration_);
    track_metric(divergence_);
  }

  ch::Tensor call(const ch::Tensor& image, const ch::CallContext&) override {
    return ops::sigmoid(decoder_(mean(image)));
  }

  void train_step(const ch::Element& data) override {
    const ch::Tensor image = ch::unpack_x_y_sample_weight(data).x.leaf();
    ch::GradientTape tape;
    const ch::Tensors code = ops::split(encoder_(image, {.training = true}), 2, -1);
    const ch::Tensor &center = code[0], &log_variance = code[1];
    // Drawn beside the gradient's way: it flows through the centre and the spread.
    const ch::Tensor drawn = center + ops::exp(0.5 * log_variance) * ops::random_normal_like(center);
    const ch::Tensor logits = decoder_(drawn, {.training = true});
    const ch::Tensor restoration = ops::mean(ops::sum(ops::sigmoid_cross_entropy(logits, image), {1, 2}));
    const ch::Tensor divergence =
        ops::mean(ops::sum(-0.5 * (1.0 + log_variance - ops::square(center) - ops::exp(log_variance)), -1));
    const ch::Tensor loss = restoration + divergence;
    track_loss(loss, image);
    restoration_.update_state(restoration);
    divergence_.update_state(divergence);
    const ch::Variables variables = trainable_variables();
    // Scaled only under mixed_float16; apply() undoes it.
    optimizer()->apply(tape.gradient(optimizer()->scale_loss(loss), variables), variables);
  }

 private:
  ch::Tensor mean(const ch::Tensor& image) { return ops::split(encoder_(image), 2, -1)[0]; }

  ch::LayerHandle<ch::Sequential> encoder_, decoder_;
  ch::metrics::Mean restoration_{{.name = "restoration"}}, divergence_{{.name = "divergence"}};
};

}  // namespace

int main(int count, char** values) {
  const bool smoke = example::is_smoke(count, values);
  ch::set_random_seed(1);
  auto [train, test] = example::images(smoke);
  const ch::Dataset images =
      train.map([](ch::Tensor image, ch::Tensor) { return ch::Element(ops::cast(image, ch::DType::Float32) / 255.0); });
  Vae model(smoke ? 4 : 16);
  model.compile({.optimizer = ch::optimizers::Adam(smoke ? 1e-2 : 1e-3)});
  const ch::History history =
      model.fit(images.shuffle(60000).batch(64), {.epochs = smoke ? 20 : 10, .verbose = smoke ? 0 : 1});
  std::cout << "Loss: " << history["loss"].front() << " then " << history["loss"].back() << "\n";
  std::cout << "Divergence: " << history["divergence"].back() << "\n";
}
