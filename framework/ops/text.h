#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// Strings live on the host, and so do these functions of them.

// A bucket in [0, num_buckets), int64, for each string or integer (hashed as its decimal digits). Without a salt it is
// FarmHash's 64-bit fingerprint, with one of two numbers SipHash-2-4 keyed by them; the same numbers as TensorFlow's.
Tensor hash_buckets(const Tensor& x, std::int64_t num_buckets, const std::vector<std::int64_t>& salt = {});

// Text in lower case ("lower"), without ASCII punctuation ("strip_punctuation"), or both
// ("lower_and_strip_punctuation"). As in Keras only ASCII letters change.
Tensor standardize_text(const Tensor& x, const std::string& how);

// What tokenize takes.
struct TokenizeOptions {
  std::string split = "whitespace";       // "whitespace", "character", or "": the last axis holds tokens already
  std::vector<std::int64_t> ngrams = {};  // lengths of the runs of tokens, joined by a space; none: the tokens
  std::int64_t length = 0;                // tokens kept of each text; 0: as many as the longest has
};
// The tokens of each text along a new last axis, shorter ones filled up with empty strings.
Tensor tokenize(const Tensor& x, const TokenizeOptions& options = {});

// How tokens become numbers; all of it travels with a graph.
struct LookupRule {
  Tensor vocabulary;                 // (count) of strings or int64
  std::int64_t first_index = 0;      // of the vocabulary's first token
  std::int64_t oov_index = 0;        // of the first bucket for tokens that are not in the vocabulary
  std::int64_t num_oov_indices = 1;  // 0: such a token is an error
  bool hash_oov = false;             // integers too are spread over several buckets by hash, not by remainder
  // Two numbers that key the hash; none: unkeyed.
  std::vector<std::int64_t> salt = {};
  Tensor mask_token = {};  // a scalar; none when undefined
  // Index of the mask token.
  std::int64_t mask_index = 0;
};
// The index (int64) of each token.
Tensor lookup_index(const Tensor& tokens, const LookupRule& rule);
// The token at each index (int64); `oov_token` where there is none, the mask token at 0.
Tensor lookup_token(const Tensor& indices, const Tensor& vocabulary, std::int64_t first_index, const Tensor& oov_token,
                    const Tensor& mask_token = {});

}  // namespace cohort::ops
