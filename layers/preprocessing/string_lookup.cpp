#include "cohort/layers/preprocessing/string_lookup.h"

namespace cohort::layers {

StringLookupLayer::StringLookupLayer(StringLookupOptions options)
    : IndexLookupLayer({.max_tokens = options.max_tokens,
                        .num_oov_indices = options.num_oov_indices,
                        .mask_token = std::move(options.mask_token),
                        .oov_token = std::move(options.oov_token),
                        .vocabulary = std::move(options.vocabulary),
                        .idf_weights = std::move(options.idf_weights),
                        .invert = options.invert,
                        .output_mode = std::move(options.output_mode),
                        .sparse = options.sparse,
                        .pad_to_max_tokens = options.pad_to_max_tokens,
                        .salt = std::move(options.salt)}),
      encoding_(std::move(options.encoding)) {
  if (!options.name.empty()) set_name(options.name);
  fields_changed();
}

void StringLookupLayer::visit_fields(FieldVisitor& visitor) {
  IndexLookupLayer::visit_fields(visitor);
  visitor.field("encoding", encoding_);
}

COHORT_REGISTER(Layer, StringLookupLayer, "StringLookup");

StringLookup::StringLookup(StringLookupOptions options)
    : LayerHandle<StringLookupLayer>(std::make_shared<StringLookupLayer>(std::move(options))) {}

}  // namespace cohort::layers
