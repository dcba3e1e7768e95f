#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/preprocessing/adaptable.h"
#include "cohort/model/layer/assets.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// The options of a lookup of strings or integers.
template <class Token>
struct LookupOptions {
  // Largest size of the vocabulary, special tokens included: adapt() keeps the most frequent tokens. None: no limit.
  std::optional<std::int64_t> max_tokens = std::nullopt;
  // Number of indices for tokens outside the vocabulary, which share them by hash or oov_method. 0: such a token is an
  // error.
  std::int64_t num_oov_indices = 1;
  // Token that stands for no value: index 0 with output_mode 'int', otherwise counted nowhere. None: no such token.
  std::optional<Token> mask_token = std::nullopt;
  // Token that `invert` gives for an index outside the vocabulary; adapt() leaves it out. None: the empty string or 0.
  std::optional<Token> oov_token = std::nullopt;
  // The tokens in the order of their indices, with or without the special ones in front. None: adapt() finds them.
  std::optional<std::vector<Token>> vocabulary = std::nullopt;
  // Inverse document frequency of each token of `vocabulary`; with output_mode 'tf_idf' only.
  std::optional<std::vector<double>> idf_weights = std::nullopt;
  // Whether the layer maps indices to tokens, not tokens to indices; needs output_mode 'int'.
  bool invert = false;
  // 'int': indices; 'one_hot': a vector for each token; 'multi_hot': which tokens of a row occur; 'count': how often;
  // 'tf_idf': how often, times the inverse document frequency.
  std::string output_mode = "int";
  // Must be false: sparse tensors are not supported.
  bool sparse = false;
  // Whether the output's last axis is max_tokens even where the vocabulary is smaller; not with output_mode 'int'.
  bool pad_to_max_tokens = false;
  // Of integers: 'floormod' by remainder, 'farmhash' by hash.
  std::string oov_method = "floormod";
  // One number or two that key the hash, SipHash, by which tokens share several OOV indices. None: FarmHash.
  std::optional<std::vector<std::int64_t>> salt = std::nullopt;
};

// Tokens to their numbers in a vocabulary and back: what StringLookup and IntegerLookup have in common. Numbers begin
// with the mask's (0, if there is one and the mode is "int"), then those for tokens that are not in the vocabulary.
template <class Token>
class IndexLookupLayer : public Layer, public Adaptable, public HasAssets {
 public:
  explicit IndexLookupLayer(LookupOptions<Token> options);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

  // Learns the vocabulary: the tokens of the data, the most frequent first. A row of the data is a document.
  void adapt(const Tensor& data) override;
  void adapt(const Dataset& data) override;
  // The same in steps: forget what was counted, count a batch, and make the vocabulary of the counts.
  void reset_state();
  void update_state(const Tensor& data);
  void finalize_state();

  // Takes a vocabulary, with or without the special tokens in front, and with output_mode 'tf_idf' a weight for each
  // token.
  void set_vocabulary(std::vector<Token> vocabulary, std::optional<std::vector<double>> idf_weights = std::nullopt);
  // The same from a text file with one token in each line.
  void set_vocabulary_file(const std::string& path);
  // The vocabulary in the order of its indices; with include_special_tokens the mask and OOV tokens lead it.
  std::vector<Token> get_vocabulary(bool include_special_tokens = true) const;
  // Number of indices, those of special tokens included.
  std::int64_t vocabulary_size() const;
  // What its config holds: a vocabulary that was given, not one that was learned.
  const std::optional<std::vector<Token>>& config_vocabulary() const { return options_.vocabulary; }
  const std::optional<std::vector<double>>& config_idf_weights() const { return options_.idf_weights; }

  LayerAssets assets() const override;
  void restore_assets(const LayerAssets& assets) override;
  // A vocabulary of this size is still to come: until then the layer can be called on symbols.
  void expect_vocabulary(std::int64_t size) { saved_size_ = size; }

 protected:
  bool casts_inputs() const override { return false; }
  LookupOptions<Token> options_;

 private:
  std::int64_t oov_start() const { return options_.mask_token && options_.output_mode == "int" ? 1 : 0; }
  std::int64_t token_start() const { return oov_start() + options_.num_oov_indices; }
  void take_vocabulary(const std::vector<Token>& vocabulary, const std::optional<std::vector<double>>& idf_weights);
  // Weights of all numbers, from those of the tokens: the special ones get the mean.
  void take_weights(std::vector<double> weights, bool with_special_tokens);

  std::vector<Token> tokens_;  // without special ones
  Tensor vocabulary_;          // the same, as it travels with graphs
  std::vector<double> weights_;
  std::optional<std::int64_t> saved_size_;  // of a vocabulary that was saved elsewhere than in the config
  bool learns_ = true;                      // the vocabulary was not given
  std::map<Token, std::int64_t> counts_, document_counts_;
  std::int64_t documents_ = 0;
};

extern template class IndexLookupLayer<std::string>;
extern template class IndexLookupLayer<std::int64_t>;

}  // namespace cohort::layers
