// Masks: padded steps count for nothing in recurrent layers, pooling, the loss and a layer of one's own.
#include <cohort/cohort.h>

#include <cmath>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;
namespace ops = ch::ops;

// The mean of the steps that count.
class MaskedMean : public ch::Layer {
 public:
  ch::Tensor call(const ch::Tensor& x, const ch::CallContext& context) override {
    const ch::Tensor& mask = context.mask.leaf();
    if (!mask.defined()) return ops::mean(x, 1);
    const ch::Tensor weight = ops::expand_dims(ops::cast(mask, ch::DType::Float32), -1);
    return ops::sum(x * weight, 1) / ops::maximum(ops::sum(weight, 1), 1.0);
  }
};

bool near(const ch::Tensor& a, const ch::Tensor& b) { return ops::max(ops::abs(a - b)).item<double>() < 1e-5; }

int main() {
  ch::set_random_seed(23);
  const ch::Tensor values = ops::random_normal({32, 5, 2});
  const ch::Tensor padded = ops::pad(values, {{0, 0}, {0, 3}, {0, 0}}, "constant", -1.0);

  layers::LSTM lstm(4);
  layers::GlobalAveragePooling1D pool;
  auto mean = ch::make<MaskedMean>();
  const std::vector<ch::Ref<ch::Layer>> readers = {lstm, pool, mean};
  for (const ch::Ref<ch::Layer>& reader : readers) {
    ch::Sequential masked({layers::Masking(-1.0), reader});
    ch::Sequential bare({reader});
    const ch::Tensor of_padded = masked.predict(padded, {.verbose = 0}),
                     of_values = bare.predict(values, {.verbose = 0});
    check(near(of_padded, of_values), reader->name() + " sees through the mask what is not padding");
    check(!near(bare.predict(padded, {.verbose = 0}), of_values), reader->name() + " would see the padding without it");
  }

  // A label for every step: padded ones do not count, in the loss or the metric.
  const ch::Tensor ids = ch::Tensor::of<std::int32_t>({3, 1, 0, 0, 2, 2, 1, 0}, {2, 4});
  const ch::Tensor labels = ch::Tensor::of<std::int32_t>({1, 0, 1, 1, 1, 1, 0, 1}, {2, 4});
  ch::Sequential tagger({layers::Embedding(4, 3, {.mask_zero = true}), layers::Dense(2)});
  tagger.compile({.optimizer = "adam",
                  .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                  .metrics = {"accuracy"}});
  const ch::Logs logs = tagger.evaluate(ids, labels, {.verbose = 0});
  const ch::Tensor logits = tagger.predict(ids, {.verbose = 0});
  const ch::Tensor counts = ops::cast(ops::not_equal(ids, 0.0), ch::DType::Float32);
  const ch::Tensor losses = ch::losses::sparse_categorical_crossentropy(labels, logits, true);
  const double expected = (ops::sum(losses * counts) / ops::sum(counts)).item<double>();
  check(std::abs(logs["loss"] - expected) < 1e-5, "the loss is the mean over what counts");
  const ch::Tensor hit =
      ops::cast(ops::equal(ops::cast(ops::argmax(logits, -1), ch::DType::Int32), labels), ch::DType::Float32);
  check(std::abs(logs["accuracy"] - (ops::sum(hit * counts) / ops::sum(counts)).item<double>()) < 1e-5,
        "so is the accuracy");
}
