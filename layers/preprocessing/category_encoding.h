#pragma once

#include <cstdint>
#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct CategoryEncodingOptions {
  // 'one_hot': a vector for each index; 'multi_hot': which categories of a row occur; 'count': how often.
  std::string output_mode = "multi_hot";
  // Must be false: sparse tensors are not supported.
  bool sparse = false;
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(CategoryEncodingOptions, output_mode)

class CategoryEncodingLayer : public Layer {
 public:
  CategoryEncodingLayer() : CategoryEncodingLayer(1) {}
  explicit CategoryEncodingLayer(std::int64_t num_tokens, CategoryEncodingOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  std::vector<std::string> argument_names() const override { return {"inputs", "count_weights"}; }
  Element call_element(const Element& inputs, const CallContext& context) override;
  void build_element(const ShapeTree&) override {}

 private:
  std::int64_t num_tokens_;
  CategoryEncodingOptions options_;
};

// Category indices as one-hot vectors, as flags of what occurs in each row, or as counts. Counts may be weighted by a
// call argument count_weights of the input's shape.
// Input (batch, n) of integers in [0, num_tokens), output (batch, num_tokens); with 'one_hot' (batch, n, num_tokens),
// or (batch, num_tokens) where n is 1.
//   num_tokens: number of categories.
struct CategoryEncoding : LayerHandle<CategoryEncodingLayer> {
  explicit CategoryEncoding(std::int64_t num_tokens, CategoryEncodingOptions options = {});
};

}  // namespace cohort::layers
