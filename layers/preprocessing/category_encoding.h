#pragma once

#include <cstdint>
#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct CategoryEncodingOptions {
  std::string output_mode = "multi_hot";  // "one_hot", "multi_hot", "count"
  bool sparse = false;
  DTypePolicy dtype = {};
  std::string name = {};
};

// Category numbers (batch, n) in [0, num_tokens) to (batch, num_tokens): one-hot, which of them occur, or how often.
// Counts may be weighted by a call argument count_weights of the numbers' shape.
class CategoryEncodingLayer : public Layer {
 public:
  CategoryEncodingLayer() : CategoryEncodingLayer(1) {}
  explicit CategoryEncodingLayer(std::int64_t num_tokens, CategoryEncodingOptions options = {});
  std::string class_name() const override { return "CategoryEncoding"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  std::vector<std::string> argument_names() const override { return {"inputs", "count_weights"}; }
  Element call_element(const Element& inputs, const CallContext& context) override;
  void build_element(const ShapeTree&) override {}

 private:
  std::int64_t num_tokens_;
  CategoryEncodingOptions options_;
};

struct CategoryEncoding : LayerHandle<CategoryEncodingLayer> {
  explicit CategoryEncoding(std::int64_t num_tokens, CategoryEncodingOptions options = {})
      : LayerHandle<CategoryEncodingLayer>(std::make_shared<CategoryEncodingLayer>(num_tokens, std::move(options))) {}
};

}  // namespace cohort::layers
