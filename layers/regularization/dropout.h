#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/seeded_layer.h"

namespace cohort::layers {

struct DropoutOptions {
  // Shape of the dropout mask, with as many axes as the input: an axis of size 1 shares one draw, any other has the
  // input's size; empty: a draw for each element.
  std::optional<Shape> noise_shape = std::nullopt;
  std::optional<std::int64_t> seed = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};

class DropoutLayer : public SeededLayer {
 public:
  DropoutLayer() : DropoutLayer(0.5) {}
  explicit DropoutLayer(double rate, DropoutOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  double rate_;
  std::optional<Shape> noise_shape_;
};

// In training, sets a random share of the input to 0 and multiplies the rest by 1 / (1 - rate), which keeps the
// expected sum. Otherwise it returns its input.
// Input any shape, output the same shape.
//   rate: share of the elements that are dropped, in [0, 1].
struct Dropout : LayerHandle<DropoutLayer> {
  explicit Dropout(double rate, DropoutOptions options = {});
};

}  // namespace cohort::layers
