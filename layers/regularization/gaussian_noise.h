#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/layers/seeded_layer.h"

namespace cohort::layers {

struct GaussianOptions {
  std::optional<std::int64_t> seed = std::nullopt;
  DTypePolicy dtype = {};
  std::string name = {};
};

class GaussianNoiseLayer : public SeededLayer {
 public:
  GaussianNoiseLayer() : GaussianNoiseLayer(0.0) {}
  explicit GaussianNoiseLayer(double stddev, GaussianOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  double stddev_;
};

// In training, adds normally distributed noise of mean 0. Otherwise it returns its input.
// Input any shape, output the same shape.
//   stddev: standard deviation of the noise, in [0, 1].
struct GaussianNoise : LayerHandle<GaussianNoiseLayer> {
  explicit GaussianNoise(double stddev, GaussianOptions options = {});
};

class GaussianDropoutLayer : public SeededLayer {
 public:
  GaussianDropoutLayer() : GaussianDropoutLayer(0.5) {}
  explicit GaussianDropoutLayer(double rate, GaussianOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  double rate_;
};

// In training, multiplies by normally distributed noise of mean 1 and standard deviation sqrt(rate / (1 - rate)).
// Otherwise it returns its input.
// Input any shape, output the same shape.
//   rate: drop rate of the Dropout whose noise has the same variance, in [0, 1); 1 throws in training.
struct GaussianDropout : LayerHandle<GaussianDropoutLayer> {
  explicit GaussianDropout(double rate, GaussianOptions options = {});
};

}  // namespace cohort::layers
