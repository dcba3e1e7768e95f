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

// In training, adds normal numbers with mean 0 and the given deviation.
class GaussianNoiseLayer : public SeededLayer {
 public:
  GaussianNoiseLayer() : GaussianNoiseLayer(0.0) {}
  explicit GaussianNoiseLayer(double stddev, GaussianOptions options = {});
  std::string class_name() const override { return "GaussianNoise"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  double stddev_;
};

struct GaussianNoise : LayerHandle<GaussianNoiseLayer> {
  explicit GaussianNoise(double stddev, GaussianOptions options = {})
      : LayerHandle<GaussianNoiseLayer>(std::make_shared<GaussianNoiseLayer>(stddev, std::move(options))) {}
};

// In training, multiplies by normal numbers with mean 1 and deviation sqrt(rate / (1 - rate)).
class GaussianDropoutLayer : public SeededLayer {
 public:
  GaussianDropoutLayer() : GaussianDropoutLayer(0.5) {}
  explicit GaussianDropoutLayer(double rate, GaussianOptions options = {});
  std::string class_name() const override { return "GaussianDropout"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  double rate_;
};

struct GaussianDropout : LayerHandle<GaussianDropoutLayer> {
  explicit GaussianDropout(double rate, GaussianOptions options = {})
      : LayerHandle<GaussianDropoutLayer>(std::make_shared<GaussianDropoutLayer>(rate, std::move(options))) {}
};

}  // namespace cohort::layers
