#include "cohort/ops/text.h"

#include <algorithm>

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"
#include "cohort/ops/cast.h"

namespace cohort::ops {
namespace {

bool is_token_type(DType dtype) { return dtype == DType::String || dtype == DType::Int64; }

void check_vocabulary(const OpCall& call, const char* scalar) {
  const auto vocabulary = call.attr<Tensor>("vocabulary");
  call.check(vocabulary.rank() == 1 && is_token_type(vocabulary.dtype()),
             "vocabulary must be a list of strings or int64", {{"vocabulary", vocabulary.spec()}});
  for (const char* name : {scalar, "mask_token"}) {
    if (!call.has_attr(name)) continue;
    const auto token = call.attr<Tensor>(name);
    call.check(token.rank() == 0 && token.dtype() == vocabulary.dtype(),
               std::string(name) + " must be a token of the vocabulary's type", {{name, token.spec()}});
  }
}

COHORT_OP("HashBuckets")
    .inputs(1)
    .attr("num_buckets", 1)
    .attr("salt", std::vector<std::int64_t>{})
    .host_only()
    .infer([](const OpCall& call) -> Specs {
      call.check(call.dtype(0) == DType::String || is_integer(call.dtype(0)) || call.dtype(0) == DType::Bool,
                 "strings or integers are expected", {{"x", call.spec(0)}});
      const auto buckets = call.attr<std::int64_t>("num_buckets");
      call.check(buckets > 0, "num_buckets must be positive", {{"num_buckets", buckets}});
      const std::size_t keys = call.attr<std::vector<std::int64_t>>("salt").size();
      call.check(keys == 0 || keys == 2, "a salt has two numbers", {{"numbers", keys}});
      return {{DType::Int64, call.shape(0)}};
    })
    .not_differentiable();

COHORT_OP("StandardizeText")
    .inputs(1)
    .attr("standardize", "lower_and_strip_punctuation")
    .host_only()
    .infer([](const OpCall& call) -> Specs {
      call.check(call.dtype(0) == DType::String, "strings are expected", {{"x", call.spec(0)}});
      const auto how = call.attr<std::string>("standardize");
      call.check(how == "lower" || how == "strip_punctuation" || how == "lower_and_strip_punctuation",
                 "standardize must be 'lower', 'strip_punctuation' or 'lower_and_strip_punctuation'",
                 {{"standardize", how}});
      return same_as(call.spec(0));
    })
    .not_differentiable();

COHORT_OP("TokenizeText")
    .inputs(1)
    .attr("split", "whitespace")
    .attr("ngrams", std::vector<std::int64_t>{})
    .attr("length", 0)
    .host_only()
    .dynamic_outputs()
    .infer([](const OpCall& call) -> Specs {
      call.check(call.dtype(0) == DType::String, "strings are expected", {{"x", call.spec(0)}});
      const auto split = call.attr<std::string>("split");
      call.check(split.empty() || split == "whitespace" || split == "character",
                 "split must be 'whitespace', 'character' or empty", {{"split", split}});
      const auto ngrams = call.attr<std::vector<std::int64_t>>("ngrams");
      call.check(std::all_of(ngrams.begin(), ngrams.end(), [](std::int64_t n) { return n > 0; }),
                 "ngrams must be positive");
      const auto length = call.attr<std::int64_t>("length");
      call.check(length >= 0, "length must not be negative", {{"length", length}});
      call.check(!split.empty() || call.rank(0) > 0, "tokens must have an axis", {{"x", call.spec(0)}});
      Shape shape = split.empty() ? call.shape(0).slice(0, call.rank(0) - 1) : call.shape(0);
      shape.push_back(length > 0 ? length : kUnknown);
      return {{DType::String, shape}};
    })
    .not_differentiable();

COHORT_OP("LookupIndex")  // attributes: vocabulary, mask_token (none: no mask)
    .inputs(1)
    .attr("first_index", 0)
    .attr("oov_index", 0)
    .attr("num_oov_indices", 1)
    .attr("hash_oov", false)
    .attr("salt", std::vector<std::int64_t>{})
    .attr("mask_index", 0)
    .host_only()
    .infer([](const OpCall& call) -> Specs {
      check_vocabulary(call, "mask_token");
      call.check(call.dtype(0) == call.attr<Tensor>("vocabulary").dtype(),
                 "tokens must have the type of the vocabulary", {{"tokens", call.spec(0)}});
      const std::size_t keys = call.attr<std::vector<std::int64_t>>("salt").size();
      call.check(keys == 0 || keys == 2, "a salt has two numbers", {{"numbers", keys}});
      call.check(call.attr<std::int64_t>("num_oov_indices") >= 0, "num_oov_indices must not be negative");
      return {{DType::Int64, call.shape(0)}};
    })
    .not_differentiable();

COHORT_OP("LookupToken")  // attributes: vocabulary, oov_token, mask_token (none: no mask)
    .inputs(1)
    .attr("first_index", 0)
    .host_only()
    .infer([](const OpCall& call) -> Specs {
      check_vocabulary(call, "oov_token");
      call.check(call.dtype(0) == DType::Int64, "indices must be int64", {{"indices", call.spec(0)}});
      return {{call.attr<Tensor>("vocabulary").dtype(), call.shape(0)}};
    })
    .not_differentiable();

}  // namespace

Tensor hash_buckets(const Tensor& x, std::int64_t num_buckets, const std::vector<std::int64_t>& salt) {
  return run_op("HashBuckets", {x}, {{"num_buckets", num_buckets}, {"salt", salt}});
}

Tensor standardize_text(const Tensor& x, const std::string& how) {
  return run_op("StandardizeText", {x}, {{"standardize", how}});
}

Tensor tokenize(const Tensor& x, const TokenizeOptions& options) {
  return run_op("TokenizeText", {x},
                {{"split", options.split}, {"ngrams", options.ngrams}, {"length", options.length}});
}

Tensor lookup_index(const Tensor& tokens, const LookupRule& rule) {
  Attributes attributes = {{"vocabulary", rule.vocabulary}, {"first_index", rule.first_index},
                           {"oov_index", rule.oov_index},   {"num_oov_indices", rule.num_oov_indices},
                           {"hash_oov", rule.hash_oov},     {"salt", rule.salt},
                           {"mask_index", rule.mask_index}};
  if (rule.mask_token.defined()) attributes.set("mask_token", rule.mask_token);
  const bool numbers = rule.vocabulary.dtype() == DType::Int64 && tokens.dtype() != DType::String;
  return run_op("LookupIndex", {numbers ? cast(tokens, DType::Int64) : tokens}, attributes);
}

Tensor lookup_token(const Tensor& indices, const Tensor& vocabulary, std::int64_t first_index, const Tensor& oov_token,
                    const Tensor& mask_token) {
  Attributes attributes = {{"vocabulary", vocabulary}, {"first_index", first_index}, {"oov_token", oov_token}};
  if (mask_token.defined()) attributes.set("mask_token", mask_token);
  return run_op("LookupToken", {cast(indices, DType::Int64)}, attributes);
}

}  // namespace cohort::ops
