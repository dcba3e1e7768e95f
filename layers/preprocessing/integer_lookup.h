#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/preprocessing/index_lookup.h"

namespace cohort::layers {

struct IntegerLookupOptions {
  // Largest size of the vocabulary, special tokens included: adapt() keeps the most frequent tokens. None: no limit.
  std::optional<std::int64_t> max_tokens = std::nullopt;
  // Number of indices for tokens outside the vocabulary, which share them by oov_method. 0: such a token is an error.
  std::int64_t num_oov_indices = 1;
  // Token that stands for no value: index 0 with output_mode 'int', otherwise counted nowhere. None: no such token.
  std::optional<std::int64_t> mask_token = std::nullopt;
  // Token that `invert` gives for an index outside the vocabulary; adapt() leaves it out. None: 0.
  std::optional<std::int64_t> oov_token = -1;
  // The tokens in the order of their indices, with or without the special ones in front. None: adapt() finds them.
  std::optional<std::vector<std::int64_t>> vocabulary = std::nullopt;
  // Must be 'int64'.
  std::string vocabulary_dtype = "int64";
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
  // How unknown integers share several OOV indices: 'floormod' by remainder, 'farmhash' by hash.
  std::string oov_method = "floormod";
  // One number or two that key the hash, SipHash, by which tokens share several OOV indices. Needs oov_method
  // 'farmhash'. None: FarmHash.
  std::optional<std::vector<std::int64_t>> salt = std::nullopt;
  std::string name = {};
};

class IntegerLookupLayer : public IndexLookupLayer<std::int64_t> {
 public:
  explicit IntegerLookupLayer(IntegerLookupOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 private:
  std::string vocabulary_dtype_;
};

// Replaces integers by their index in a vocabulary, which is given or learned by adapt(), or indices by integers.
// Input any shape of integers, output int64 of the same shape; with 'one_hot' a last axis of the vocabulary's size is
// added, in place of one of size 1, with 'multi_hot', 'count' and 'tf_idf' (float32) (batch, n) becomes (batch,
// vocabulary). With `invert` input int64 indices, output int64.
// Indices begin with that of mask_token (where there is one and output_mode is 'int'), then come num_oov_indices for
// unknown integers, then the vocabulary.
struct IntegerLookup : LayerHandle<IntegerLookupLayer> {
  explicit IntegerLookup(IntegerLookupOptions options = {});
  // Learns the vocabulary, the most frequent tokens first: from samples (batch, ...) or from all batches of a dataset,
  // of which the first tensor counts. With 'tf_idf' a row is a document.
  void adapt(const Tensor& data) const { get()->adapt(data); }
  void adapt(const Dataset& data) const { get()->adapt(data); }
  // The vocabulary in the order of its indices; with include_special_tokens the mask and OOV tokens lead it.
  std::vector<std::int64_t> get_vocabulary(bool include_special_tokens = true) const {
    return get()->get_vocabulary(include_special_tokens);
  }
};

}  // namespace cohort::layers
