#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/preprocessing/adaptable.h"
#include "cohort/layers/preprocessing/either_field.h"
#include "cohort/layers/preprocessing/string_lookup.h"

namespace cohort::layers {

struct TextVectorizationOptions {
  std::optional<std::int64_t> max_tokens = std::nullopt;
  std::optional<std::string> standardize = "lower_and_strip_punctuation";  // or "lower", "strip_punctuation", none
  std::optional<std::string> split = "whitespace";                         // or "character", none
  NumberOrList ngrams = {};         // a number: runs of up to as many tokens; a list: runs of these lengths
  std::string output_mode = "int";  // "int", "multi_hot", "count", "tf_idf"
  std::optional<std::int64_t> output_sequence_length = std::nullopt;
  bool pad_to_max_tokens = false;
  std::optional<std::vector<std::string>> vocabulary = std::nullopt;
  std::optional<std::vector<double>> idf_weights = std::nullopt;
  bool sparse = false;
  bool ragged = false;
  std::string encoding = "utf-8";
  std::string name = {};
};

// Texts (batch) or (batch, 1) to token numbers (batch, tokens), 0 where a text has no more, 1 for what is not in the
// vocabulary; or to which tokens occur, how often, or how tellingly (batch, vocabulary).
class TextVectorizationLayer : public Layer, public Adaptable, public HasAssets {
 public:
  explicit TextVectorizationLayer(TextVectorizationOptions options = {});
  std::string class_name() const override { return "TextVectorization"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

  // Learns the vocabulary from texts.
  void adapt(const Tensor& data) override;
  void adapt(const Dataset& data) override;
  void set_vocabulary(std::vector<std::string> vocabulary,
                      std::optional<std::vector<double>> idf_weights = std::nullopt);
  void set_vocabulary_file(const std::string& path);
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const;
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

struct TextVectorization : LayerHandle<TextVectorizationLayer> {
  explicit TextVectorization(TextVectorizationOptions options = {})
      : LayerHandle<TextVectorizationLayer>(std::make_shared<TextVectorizationLayer>(std::move(options))) {}
  void adapt(const Tensor& data) const { get()->adapt(data); }
  void adapt(const Dataset& data) const { get()->adapt(data); }
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const {
    return get()->get_vocabulary(include_special_tokens);
  }
};

}  // namespace cohort::layers
