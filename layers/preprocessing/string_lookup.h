#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/preprocessing/index_lookup.h"

namespace cohort::layers {

struct StringLookupOptions {
  std::optional<std::int64_t> max_tokens = std::nullopt;
  std::int64_t num_oov_indices = 1;
  std::optional<std::string> mask_token = std::nullopt;
  std::optional<std::string> oov_token = "[UNK]";
  std::optional<std::vector<std::string>> vocabulary = std::nullopt;
  std::optional<std::vector<double>> idf_weights = std::nullopt;
  bool invert = false;
  std::string output_mode = "int";  // "int", "one_hot", "multi_hot", "count", "tf_idf"
  bool pad_to_max_tokens = false;
  bool sparse = false;
  std::string encoding = "utf-8";
  std::string name = {};
  std::optional<std::vector<std::int64_t>> salt = std::nullopt;
};

// Strings to their numbers in a vocabulary (int64), or numbers back to strings with `invert`.
class StringLookupLayer : public IndexLookupLayer<std::string> {
 public:
  explicit StringLookupLayer(StringLookupOptions options = {});
  std::string class_name() const override { return "StringLookup"; }
  void visit_fields(FieldVisitor& visitor) override;

 private:
  std::string encoding_;
};

struct StringLookup : LayerHandle<StringLookupLayer> {
  explicit StringLookup(StringLookupOptions options = {})
      : LayerHandle<StringLookupLayer>(std::make_shared<StringLookupLayer>(std::move(options))) {}
  void adapt(const Tensor& data) const { get()->adapt(data); }
  void adapt(const Dataset& data) const { get()->adapt(data); }
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const {
    return get()->get_vocabulary(include_special_tokens);
  }
};

}  // namespace cohort::layers
