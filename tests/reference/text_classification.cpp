// Text: TextVectorization learns a vocabulary, an Embedding with a mask and a GRU classify; strings go into one model.
#include <cohort/cohort.h>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;

int main() {
  ch::set_random_seed(10);
  const std::vector<std::string> good = {"great", "lovely", "wonderful"}, bad = {"awful", "boring", "terrible"};
  const std::vector<std::string> things = {"film", "book", "song", "meal", "play"};
  std::vector<std::string> texts;
  std::vector<float> labels;
  for (const std::string& thing : things) {
    for (std::size_t i = 0; i < good.size(); ++i) {
      for (const bool positive : {true, false}) {
        const std::string word = positive ? good[i] : bad[i];
        texts.push_back("A " + word + " " + thing + "!");
        texts.push_back("This " + thing + " was, to be honest, " + word);
        labels.insert(labels.end(), 2, positive ? 1.0F : 0.0F);
      }
    }
  }
  const auto count = static_cast<std::int64_t>(texts.size());
  const ch::Tensor x = ch::Tensor::of_strings(texts, {count});
  const ch::Tensor y = ch::Tensor::of<float>(labels, {count, 1});

  layers::TextVectorization vectorize({.max_tokens = 100, .output_sequence_length = 8});
  vectorize.adapt(x);
  check(vectorize.get_vocabulary()[1] == "[UNK]", "index 1 is for unknown words");
  const std::vector<std::int64_t> ids =
      vectorize(ch::Tensor::of_strings({"a GREAT unheard-of film?"}, {1})).to_vector<std::int64_t>();
  check(ids.size() == 8 && ids[2] == 1 && ids[4] == 0, "unknown words are 1, padding is 0");

  ch::Sequential classifier({layers::Embedding(vectorize->vocabulary_size(), 8, {.mask_zero = true}), layers::GRU(8),
                             layers::Dense(1, {.activation = "sigmoid"})});
  classifier.compile({.optimizer = ch::optimizers::Adam(2e-2), .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  const ch::Dataset data = ch::datasets::from_tensor_slices(x, y).shuffle(count).batch(10).map(
      [&](ch::Tensor text, ch::Tensor label) { return std::tuple(vectorize(text), label); });
  classifier.fit(data, {.epochs = 12, .verbose = 0});
  check(classifier.evaluate(vectorize(x), y, {.verbose = 0})["accuracy"] > 0.95, "the classes are learned");

  auto trained = ch::make<ch::Sequential>(classifier.layers());
  ch::Sequential whole({vectorize, trained});
  const ch::Tensor answers =
      whole.predict(ch::Tensor::of_strings({"A lovely, lovely song", "so boring a play"}, {2}), {.verbose = 0});
  const std::vector<float> scores = answers.to_vector<float>();
  check(scores[0] > 0.5F && scores[1] < 0.5F, "one model takes text and tells good from bad");
}
