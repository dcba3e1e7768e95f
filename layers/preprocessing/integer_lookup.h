#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/preprocessing/index_lookup.h"

namespace cohort::layers {

struct IntegerLookupOptions {
  std::optional<std::int64_t> max_tokens = std::nullopt;
  std::int64_t num_oov_indices = 1;
  std::optional<std::int64_t> mask_token = std::nullopt;
  std::optional<std::int64_t> oov_token = -1;
  std::optional<std::vector<std::int64_t>> vocabulary = std::nullopt;
  std::string vocabulary_dtype = "int64";
  std::optional<std::vector<double>> idf_weights = std::nullopt;
  bool invert = false;
  std::string output_mode = "int";  // "int", "one_hot", "multi_hot", "count", "tf_idf"
  bool sparse = false;
  bool pad_to_max_tokens = false;
  std::string oov_method = "floormod";  // or "farmhash"
  std::optional<std::vector<std::int64_t>> salt = std::nullopt;
  std::string name = {};
};

// Integers to their numbers in a vocabulary (int64), or numbers back to integers with `invert`.
class IntegerLookupLayer : public IndexLookupLayer<std::int64_t> {
 public:
  explicit IntegerLookupLayer(IntegerLookupOptions options = {});
  std::string class_name() const override { return "IntegerLookup"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

 private:
  std::string vocabulary_dtype_;
};

struct IntegerLookup : LayerHandle<IntegerLookupLayer> {
  explicit IntegerLookup(IntegerLookupOptions options = {})
      : LayerHandle<IntegerLookupLayer>(std::make_shared<IntegerLookupLayer>(std::move(options))) {}
  void adapt(const Tensor& data) const { get()->adapt(data); }
  void adapt(const Dataset& data) const { get()->adapt(data); }
  std::vector<std::int64_t> get_vocabulary(bool include_special_tokens = true) const {
    return get()->get_vocabulary(include_special_tokens);
  }
};

}  // namespace cohort::layers
