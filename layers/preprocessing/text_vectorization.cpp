#include "cohort/layers/preprocessing/text_vectorization.h"

#include <numeric>

#include "cohort/layers/preprocessing/encode_categories.h"
#include "cohort/ops/array.h"
#include "cohort/ops/text.h"

namespace cohort {

ConfigValue FieldCodec<layers::NumberOrList>::to(const layers::NumberOrList& value) {
  return value.list ? FieldCodec<std::vector<std::int64_t>>::to(*value.list)
                    : FieldCodec<std::optional<std::int64_t>>::to(value.number);
}

layers::NumberOrList FieldCodec<layers::NumberOrList>::from(const GivenField& given) {
  layers::NumberOrList value;
  if (given.value.get<ConfigValue::List>()) {
    value.list = FieldCodec<std::vector<std::int64_t>>::from(given);
  } else {
    value.number = FieldCodec<std::optional<std::int64_t>>::from(given);
  }
  return value;
}

}  // namespace cohort

namespace cohort::layers {

TextVectorizationLayer::TextVectorizationLayer(TextVectorizationOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  TextVectorizationLayer::fields_changed();
}

void TextVectorizationLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(options_, visitor);
  if (visitor.reads_config() && options_.vocabulary && options_.vocabulary->empty()) options_.vocabulary.reset();
  const bool known = !lookup_->get_vocabulary(/*include_special_tokens=*/false).empty();
  if (known || !saved_size_) saved_size_ = vocabulary_size();
  visitor.field("vocabulary_size", saved_size_);
}

void TextVectorizationLayer::fields_changed() {
  const auto& how = options_.standardize;
  if (how && *how != "lower_and_strip_punctuation" && *how != "lower" && *how != "strip_punctuation") {
    throw invalid_argument(class_name(),
                           "standardize must be 'lower_and_strip_punctuation', 'lower', 'strip_punctuation' or none",
                           {{"standardize", *how}}, "Put another preparation of texts into the dataset's map.");
  }
  if (options_.split && *options_.split != "whitespace" && *options_.split != "character") {
    throw invalid_argument(class_name(), "split must be 'whitespace', 'character' or none",
                           {{"split", *options_.split}});
  }
  check_output_mode(*this, options_.output_mode, /*with_int=*/true, /*with_tf_idf=*/true);
  if (options_.output_mode != "int" && options_.output_sequence_length) {
    throw invalid_argument(class_name(), "output_sequence_length needs output_mode 'int'",
                           {{"output_mode", options_.output_mode}});
  }
  if (options_.output_sequence_length && *options_.output_sequence_length < 1) {
    throw invalid_argument(class_name(), "output_sequence_length must be positive",
                           {{"output_sequence_length", *options_.output_sequence_length}});
  }
  if (options_.ngrams.number && *options_.ngrams.number < 1) {
    throw invalid_argument(class_name(), "ngrams must be positive", {{"ngrams", *options_.ngrams.number}});
  }
  if (options_.ragged) throw unimplemented(class_name(), "ragged tensors are not supported", {{"ragged", true}});
  lookup_ = std::make_shared<StringLookupLayer>(StringLookupOptions{.max_tokens = options_.max_tokens,
                                                                    .mask_token = "",
                                                                    .vocabulary = options_.vocabulary,
                                                                    .idf_weights = options_.idf_weights,
                                                                    .output_mode = options_.output_mode,
                                                                    .pad_to_max_tokens = options_.pad_to_max_tokens,
                                                                    .sparse = options_.sparse,
                                                                    .encoding = options_.encoding});
  if (saved_size_ && !options_.vocabulary) lookup_->expect_vocabulary(*saved_size_);
}

Tensor TextVectorizationLayer::tokens(const Tensor& given, std::int64_t length) const {
  if (given.dtype() != DType::String) {
    throw invalid_argument(title(), "texts are expected", {{"input", given.spec()}});
  }
  Tensor texts = options_.standardize ? ops::standardize_text(given, *options_.standardize) : given;
  if (options_.split && texts.rank() > 1) {
    if (texts.shape().back() != 1) {
      throw invalid_argument(title(), "texts to split must be (batch) or (batch, 1)", {{"input.shape", given.shape()}});
    }
    texts = ops::squeeze(texts, {-1});
  }
  ops::TokenizeOptions how{.split = options_.split.value_or(""), .length = length};
  if (options_.ngrams.number) {
    how.ngrams.resize(static_cast<std::size_t>(*options_.ngrams.number));
    std::iota(how.ngrams.begin(), how.ngrams.end(), 1);
  } else if (options_.ngrams.list) {
    how.ngrams = *options_.ngrams.list;
  }
  if (how.split.empty() && how.ngrams.empty() && length == 0) return texts;
  return ops::tokenize(texts, how);
}

Tensor TextVectorizationLayer::call(const Tensor& input, const CallContext& context) {
  return lookup_->call(tokens(input, options_.output_sequence_length.value_or(0)), context);
}

void TextVectorizationLayer::remember_vocabulary() {
  options_.vocabulary = lookup_->config_vocabulary();
  options_.idf_weights = lookup_->config_idf_weights();
}

// Keras writes its inner layer's state twice: as its own, and below the inner layer's attribute.
LayerAssets TextVectorizationLayer::assets() const {
  LayerAssets assets = lookup_->assets(), inner;
  for (const auto& [name, file] : assets.files) inner.files["_lookup_layer/" + name] = file;
  for (const auto& [name, value] : assets.values) inner.values["_lookup_layer/" + name] = value;
  assets.files.merge(inner.files);
  assets.values.merge(inner.values);
  return assets;
}

void TextVectorizationLayer::restore_assets(const LayerAssets& assets) {
  lookup_->restore_assets(assets);
  remember_vocabulary();
}

void TextVectorizationLayer::adapt(const Tensor& data) {
  lookup_->reset_state();
  lookup_->update_state(tokens(data.rank() == 1 ? ops::expand_dims(data, -1) : data, 0));
  lookup_->finalize_state();
  remember_vocabulary();
}

void TextVectorizationLayer::adapt(const Dataset& data) {
  lookup_->reset_state();
  Tensors element;
  for (const auto iterator = data.make_iterator(); iterator->next(element);)
    lookup_->update_state(tokens(element.at(0), 0));
  lookup_->finalize_state();
  remember_vocabulary();
}

void TextVectorizationLayer::set_vocabulary(std::vector<std::string> vocabulary,
                                            std::optional<std::vector<double>> idf_weights) {
  lookup_->set_vocabulary(std::move(vocabulary), std::move(idf_weights));
  remember_vocabulary();
}

void TextVectorizationLayer::set_vocabulary_file(const std::string& path) {
  lookup_->set_vocabulary_file(path);
  remember_vocabulary();
}

std::vector<std::string> TextVectorizationLayer::get_vocabulary(bool include_special_tokens) const {
  return lookup_->get_vocabulary(include_special_tokens);
}

COHORT_REGISTER(Layer, TextVectorizationLayer, "TextVectorization");

TextVectorization::TextVectorization(TextVectorizationOptions options)
    : LayerHandle<TextVectorizationLayer>(std::make_shared<TextVectorizationLayer>(std::move(options))) {}

}  // namespace cohort::layers
