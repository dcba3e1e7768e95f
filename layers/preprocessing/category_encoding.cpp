#include "cohort/layers/preprocessing/category_encoding.h"

#include "cohort/core/text.h"
#include "cohort/layers/preprocessing/encode_categories.h"

namespace cohort::layers {

CategoryEncodingLayer::CategoryEncodingLayer(std::int64_t num_tokens, CategoryEncodingOptions options)
    : num_tokens_(num_tokens), options_(std::move(options)) {
  take_options(options_);
  CategoryEncodingLayer::fields_changed();
}

void CategoryEncodingLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("num_tokens", num_tokens_);
  visit_options(options_, visitor);
}

void CategoryEncodingLayer::fields_changed() {
  check_output_mode(*this, options_.output_mode, /*with_int=*/false, /*with_tf_idf=*/false);
  refuse_sparse(*this, options_.sparse);
  if (num_tokens_ < 1) {
    throw invalid_argument(class_name(), "num_tokens must be at least 1", {{"num_tokens", num_tokens_}});
  }
}

Element CategoryEncodingLayer::call_element(const Element& inputs, const CallContext&) {
  const Tensor categories = inputs.is_leaf() ? inputs.leaf() : inputs.find("inputs")->leaf();
  const Element* given = inputs.is_leaf() ? nullptr : inputs.find("count_weights");
  if (!given) return encode_categories(categories, options_.output_mode, num_tokens_, compute_dtype());
  const Tensor weights = given->leaf();
  if (options_.output_mode != "count") {
    throw invalid_argument(title(), "count_weights need output_mode 'count'",
                           {{"output_mode", in_quotes(options_.output_mode)}});
  }
  if (!weights.shape().compatible(categories.shape())) {
    throw invalid_argument(title(), "count_weights must have the shape of the inputs",
                           {{"count_weights.shape", weights.shape()}, {"inputs.shape", categories.shape()}});
  }
  return encode_categories(categories, options_.output_mode, num_tokens_, compute_dtype(), weights);
}

COHORT_REGISTER(Layer, CategoryEncodingLayer, "CategoryEncoding");

CategoryEncoding::CategoryEncoding(std::int64_t num_tokens, CategoryEncodingOptions options)
    : LayerHandle<CategoryEncodingLayer>(std::make_shared<CategoryEncodingLayer>(num_tokens, std::move(options))) {}

}  // namespace cohort::layers
