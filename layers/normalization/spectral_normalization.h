#pragma once

#include <cstdint>
#include <string>

#include "cohort/layers/basic_options.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

class SpectralNormalizationLayer : public Layer {
 public:
  SpectralNormalizationLayer() = default;
  explicit SpectralNormalizationLayer(Ref<Layer> layer, std::int64_t power_iterations = 1, NameOption options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  void normalize_kernel();
  Ref<Layer> layer_;
  std::int64_t power_iterations_ = 1;
  Variable kernel_, vector_u_;
};

// Wraps a layer and, in training, divides its kernel (or embeddings) in place before each call by an estimate of the
// largest singular value.
// Input any shape the layer takes, output the layer's.
//   layer: layer with a kernel or embeddings.
//   power_iterations: number of power iterations per call, from 1; the vector they refine is kept between calls.
struct SpectralNormalization : LayerHandle<SpectralNormalizationLayer> {
  explicit SpectralNormalization(Ref<Layer> layer, std::int64_t power_iterations = 1, NameOption options = {});
};

}  // namespace cohort::layers
