#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/preprocessing/adaptable.h"
#include "cohort/layers/preprocessing/string_lookup.h"

namespace cohort::layers {

// A list, or a number that stands for something else than the list of it.
struct NumberOrList {
  NumberOrList() = default;
  NumberOrList(int number) : number(number) {}
  NumberOrList(std::initializer_list<std::int64_t> list) : list(list) {}
  std::optional<std::int64_t> number = std::nullopt;
  std::optional<std::vector<std::int64_t>> list = std::nullopt;
};

}  // namespace cohort::layers

template <>
struct cohort::FieldCodec<cohort::layers::NumberOrList> {
  static ConfigValue to(const layers::NumberOrList& value);
  static layers::NumberOrList from(const GivenField& given);
};

namespace cohort::layers {

struct TextVectorizationOptions {
  // Largest size of the vocabulary, special tokens included: adapt() keeps the most frequent tokens. None: no limit.
  std::optional<std::int64_t> max_tokens = std::nullopt;
  // What is done to texts first: 'lower_and_strip_punctuation', 'lower' or 'strip_punctuation', of ASCII only. None:
  // nothing.
  std::optional<std::string> standardize = "lower_and_strip_punctuation";
  // Where texts are cut into tokens: at 'whitespace' or after each 'character'. None: the last axis holds tokens
  // already.
  std::optional<std::string> split = "whitespace";
  // Runs of tokens, joined by spaces, that take the place of tokens: a number n means all lengths from 1 to n, a list
  // these lengths. Empty: the tokens themselves.
  NumberOrList ngrams = {};
  // 'int': indices; 'multi_hot': which tokens of a text occur; 'count': how often; 'tf_idf': how often, times the
  // inverse document frequency.
  std::string output_mode = "int";
  // Number of tokens that each text is cut or padded to, with output_mode 'int' only. None: that of the batch's longest
  // text.
  std::optional<std::int64_t> output_sequence_length = std::nullopt;
  // Whether the output's last axis is max_tokens even where the vocabulary is smaller; not with output_mode 'int'.
  bool pad_to_max_tokens = false;
  // The tokens in the order of their indices, with or without the special ones in front. None: adapt() finds them.
  std::optional<std::vector<std::string>> vocabulary = std::nullopt;
  // Inverse document frequency of each token of `vocabulary`; with output_mode 'tf_idf' only.
  std::optional<std::vector<double>> idf_weights = std::nullopt;
  // Must be false: sparse tensors are not supported.
  bool sparse = false;
  // Must be false: ragged tensors are not supported.
  bool ragged = false;
  // Kept for configs only: texts are taken as UTF-8.
  std::string encoding = "utf-8";
  std::string name = {};
};
COHORT_FIELDS(TextVectorizationOptions, max_tokens, standardize, split, ngrams, output_mode, output_sequence_length,
              pad_to_max_tokens, sparse, ragged, vocabulary, idf_weights, encoding)

class TextVectorizationLayer : public Layer, public Adaptable, public HasAssets {
 public:
  explicit TextVectorizationLayer(TextVectorizationOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

  // Learns the vocabulary from texts.
  void adapt(const Tensor& data) override;
  void adapt(const Dataset& data) override;
  // Takes a vocabulary and with output_mode 'tf_idf' a weight for each token.
  void set_vocabulary(std::vector<std::string> vocabulary,
                      std::optional<std::vector<double>> idf_weights = std::nullopt);
  // The same from a text file with one token in each line.
  void set_vocabulary_file(const std::string& path);
  // The vocabulary in the order of its indices; with include_special_tokens the mask and OOV tokens lead it.
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const;
  // Number of indices, those of padding and unknown tokens included.
  std::int64_t vocabulary_size() const { return lookup_->vocabulary_size(); }
  LayerAssets assets() const override;
  void restore_assets(const LayerAssets& assets) override;

 protected:
  bool casts_inputs() const override { return false; }

 private:
  Tensor tokens(const Tensor& texts, std::int64_t length) const;
  void remember_vocabulary();

  TextVectorizationOptions options_;
  std::shared_ptr<StringLookupLayer> lookup_;
  std::optional<std::int64_t> saved_size_;  // of a vocabulary that was saved elsewhere than in the config
};

// Standardizes texts, splits them into tokens and replaces these by their index in a vocabulary, which is given or
// learned by adapt(). Index 0 is padding, 1 is for unknown tokens.
// Input (batch) or (batch, 1) of strings, output (batch, tokens) of int64; with 'multi_hot', 'count' and 'tf_idf'
// (float32) (batch, vocabulary), where unknown tokens have index 0 and there is no padding.
struct TextVectorization : LayerHandle<TextVectorizationLayer> {
  explicit TextVectorization(TextVectorizationOptions options = {});
  // Learns the vocabulary from texts, the most frequent tokens first: from samples (batch, ...) or from all batches of
  // a dataset, of which the first tensor counts.
  void adapt(const Tensor& data) const { get()->adapt(data); }
  void adapt(const Dataset& data) const { get()->adapt(data); }
  // The vocabulary in the order of its indices; with include_special_tokens the mask and OOV tokens lead it.
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const {
    return get()->get_vocabulary(include_special_tokens);
  }
};

}  // namespace cohort::layers
