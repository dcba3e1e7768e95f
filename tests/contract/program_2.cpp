// A functional model of two inputs, trained for a moment.
// clang-format off
#include <cohort/cohort.h>
namespace ch = cohort;

int main() {
  ch::SymbolicTensor image = ch::Input({28, 28, 1}), meta = ch::Input({4});      // 2. Functional
  auto x = ch::layers::Conv2D(32, 3, {.activation = "relu"})(image);
  x = ch::layers::GlobalAveragePooling2D()(x);
  x = ch::layers::Concatenate()({x, meta});
  ch::Model model({image, meta}, ch::layers::Dense(10)(x));

  model.summary();
  model.compile({.optimizer = "sgd",
                 .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  const ch::Tensor images = ch::Tensor::full({8, 28, 28, 1}, 0.5), metas = ch::Tensor::full({8, 4}, 1.0);
  const ch::Tensor labels = ch::Tensor::of<std::int32_t>({0, 1, 2, 3, 4, 5, 6, 7}, {8});
  const ch::History history = model.fit({images, metas}, labels, {.batch_size = 4, .epochs = 2});
  const ch::Tensor scores = model.predict({images, metas});
  return scores.shape() == ch::Shape{8, 10} && history["loss"].size() == 2 ? 0 : 1;
}
