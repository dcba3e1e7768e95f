#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/seeded_layer.h"

namespace cohort::layers {

struct DropoutOptions {
  std::optional<Shape> noise_shape = std::nullopt;  // axes of size 1 drop together; unknown ones are the input's
  std::optional<std::int64_t> seed = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};

// In training, sets a share `rate` of the input to zero and scales the rest by 1 / (1 - rate).
class DropoutLayer : public SeededLayer {
 public:
  DropoutLayer() : DropoutLayer(0.5) {}
  explicit DropoutLayer(double rate, DropoutOptions options = {});
  std::string class_name() const override { return "Dropout"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  double rate_;
  std::optional<Shape> noise_shape_;
};

struct Dropout : LayerHandle<DropoutLayer> {
  explicit Dropout(double rate, DropoutOptions options = {})
      : LayerHandle<DropoutLayer>(std::make_shared<DropoutLayer>(rate, std::move(options))) {}
};

}  // namespace cohort::layers
