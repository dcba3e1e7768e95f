#pragma once

#include <string>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct FlattenOptions {
  // 'channels_last' when left out; 'channels_first' moves axis 1 to the end before the axes are joined.
  std::string data_format = {};
  DTypePolicy dtype = {};
  std::string name = {};
};
COHORT_FIELDS(FlattenOptions, data_format)

class FlattenLayer : public Layer {
 public:
  explicit FlattenLayer(FlattenOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  FlattenOptions options_;
};

// Joins all axes after the batch into one.
// Input (batch, ...), output (batch, features); an input (batch) becomes (batch, 1).
struct Flatten : LayerHandle<FlattenLayer> {
  explicit Flatten(FlattenOptions options = {});
};

}  // namespace cohort::layers
