#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/preprocessing/index_lookup.h"

namespace cohort::layers {

struct StringLookupOptions {
  // Largest size of the vocabulary, special tokens included: adapt() keeps the most frequent tokens. None: no limit.
  std::optional<std::int64_t> max_tokens = std::nullopt;
  // Number of indices for tokens outside the vocabulary, which share them by hash. 0: such a token is an error.
  std::int64_t num_oov_indices = 1;
  // Token that stands for no value: index 0 with output_mode 'int', otherwise counted nowhere. None: no such token.
  std::optional<std::string> mask_token = std::nullopt;
  // Token that `invert` gives for an index outside the vocabulary; adapt() leaves it out. None: the empty string.
  std::optional<std::string> oov_token = "[UNK]";
  // The tokens in the order of their indices, with or without the special ones in front. None: adapt() finds them.
  std::optional<std::vector<std::string>> vocabulary = std::nullopt;
  // Inverse document frequency of each token of `vocabulary`; with output_mode 'tf_idf' only.
  std::optional<std::vector<double>> idf_weights = std::nullopt;
  // Whether the layer maps indices to tokens, not tokens to indices; needs output_mode 'int'.
  bool invert = false;
  // 'int': indices; 'one_hot': a vector for each token; 'multi_hot': which tokens of a row occur; 'count': how often;
  // 'tf_idf': how often, times the inverse document frequency.
  std::string output_mode = "int";
  // Whether the output's last axis is max_tokens even where the vocabulary is smaller; not with output_mode 'int'.
  bool pad_to_max_tokens = false;
  // Must be false: sparse tensors are not supported.
  bool sparse = false;
  // Kept for configs only: strings are looked up byte by byte.
  std::string encoding = "utf-8";
  std::string name = {};
  // One number or two that key the hash, SipHash, by which tokens share several OOV indices. None: FarmHash.
  std::optional<std::vector<std::int64_t>> salt = std::nullopt;
};

class StringLookupLayer : public IndexLookupLayer<std::string> {
 public:
  explicit StringLookupLayer(StringLookupOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;

 private:
  std::string encoding_;
};

// Replaces strings by their index in a vocabulary, which is given or learned by adapt(), or indices by strings.
// Input any shape of strings, output int64 of the same shape; with 'one_hot' a last axis of the vocabulary's size is
// added, in place of one of size 1, with 'multi_hot', 'count' and 'tf_idf' (float32) (batch, n) becomes (batch,
// vocabulary). With `invert` input int64 indices, output strings.
// Indices begin with that of mask_token (where there is one and output_mode is 'int'), then come num_oov_indices for
// unknown strings, then the vocabulary.
struct StringLookup : LayerHandle<StringLookupLayer> {
  explicit StringLookup(StringLookupOptions options = {});
  // Learns the vocabulary, the most frequent tokens first: from samples (batch, ...) or from all batches of a dataset,
  // of which the first tensor counts. With 'tf_idf' a row is a document.
  void adapt(const Tensor& data) const { get()->adapt(data); }
  void adapt(const Dataset& data) const { get()->adapt(data); }
  // The vocabulary in the order of its indices; with include_special_tokens the mask and OOV tokens lead it.
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const {
    return get()->get_vocabulary(include_special_tokens);
  }
};

}  // namespace cohort::layers
