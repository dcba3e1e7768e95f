#include "cohort/layers/preprocessing/integer_lookup.h"

namespace cohort::layers {

IntegerLookupLayer::IntegerLookupLayer(IntegerLookupOptions options)
    : IndexLookupLayer({.max_tokens = options.max_tokens,
                        .num_oov_indices = options.num_oov_indices,
                        .mask_token = options.mask_token,
                        .oov_token = options.oov_token,
                        .vocabulary = std::move(options.vocabulary),
                        .idf_weights = std::move(options.idf_weights),
                        .invert = options.invert,
                        .output_mode = std::move(options.output_mode),
                        .sparse = options.sparse,
                        .pad_to_max_tokens = options.pad_to_max_tokens,
                        .oov_method = std::move(options.oov_method),
                        .salt = std::move(options.salt)}),
      vocabulary_dtype_(std::move(options.vocabulary_dtype)) {
  if (!options.name.empty()) set_name(options.name);
  IntegerLookupLayer::fields_changed();
}

void IntegerLookupLayer::visit_fields(FieldVisitor& visitor) {
  IndexLookupLayer::visit_fields(visitor);
  visitor.field("vocabulary_dtype", vocabulary_dtype_);
}

void IntegerLookupLayer::fields_changed() {
  if (vocabulary_dtype_ != "int64") {
    throw invalid_argument(class_name(), "vocabulary_dtype must be 'int64'", {{"vocabulary_dtype", vocabulary_dtype_}});
  }
  IndexLookupLayer::fields_changed();
}

COHORT_REGISTER(Layer, IntegerLookupLayer, "IntegerLookup");

IntegerLookup::IntegerLookup(IntegerLookupOptions options)
    : LayerHandle<IntegerLookupLayer>(std::make_shared<IntegerLookupLayer>(std::move(options))) {}

}  // namespace cohort::layers
