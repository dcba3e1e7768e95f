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
  std::optional<std::int64_t> max_tokens = std::nullopt;
  std::int64_t num_oov_indices = 1;
  std::optional<Token> mask_token = std::nullopt;
  std::optional<Token> oov_token = std::nullopt;
  std::optional<std::vector<Token>> vocabulary = std::nullopt;
  std::optional<std::vector<double>> idf_weights = std::nullopt;
  bool invert = false;
  std::string output_mode = "int";
  bool sparse = false;
  bool pad_to_max_tokens = false;
  std::string oov_method = "floormod";
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
  // The same in steps.
  void reset_state();
  void update_state(const Tensor& data);
  void finalize_state();

  void set_vocabulary(std::vector<Token> vocabulary, std::optional<std::vector<double>> idf_weights = std::nullopt);
  // One token in each line.
  void set_vocabulary_file(const std::string& path);
  std::vector<Token> get_vocabulary(bool include_special_tokens = true) const;
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
