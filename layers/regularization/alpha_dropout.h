#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/seeded_layer.h"

namespace cohort::layers {

struct AlphaDropoutOptions {
  std::optional<Shape> noise_shape = std::nullopt;  // axes of size 1 drop together; unknown ones are the input's
  std::optional<std::int64_t> seed = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};

// In training, sets a share `rate` of the input to the value SELU saturates at, and scales and shifts the result so
// that mean and deviation of normalized inputs stay.
class AlphaDropoutLayer : public SeededLayer {
 public:
  AlphaDropoutLayer() : AlphaDropoutLayer(0.5) {}
  explicit AlphaDropoutLayer(double rate, AlphaDropoutOptions options = {});
  std::string class_name() const override { return "AlphaDropout"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  double rate_;
  std::optional<Shape> noise_shape_;
};

struct AlphaDropout : LayerHandle<AlphaDropoutLayer> {
  explicit AlphaDropout(double rate, AlphaDropoutOptions options = {})
      : LayerHandle<AlphaDropoutLayer>(std::make_shared<AlphaDropoutLayer>(rate, std::move(options))) {}
};

}  // namespace cohort::layers
