#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/seeded_layer.h"

namespace cohort::layers {

// What the layers share that change images: (batch, height, width, channels), or one image without the batch, in either
// data format. Channels come last where they compute.
class ImageLayer : public SeededLayer {
 public:
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 protected:
  ImageLayer(std::string data_format, std::optional<std::int64_t> seed = std::nullopt)
      : SeededLayer(seed), data_format_(std::move(data_format)) {}
  // (batch, height, width, channels) in the type the layer computes in, unless keeps_type().
  virtual Tensor transform(const Tensor& images, bool training) = 0;
  virtual bool keeps_type() const { return false; }

  // Throws unless height and width are known while tracing.
  void check_size_known(const Tensor& images) const;
  // One number for each image, (batch, 1), or (batch, 1, 1, 1) to broadcast over its pixels.
  Tensor draw(const Tensor& images, double low, double high);
  Tensor draw_wide(const Tensor& images, double low, double high);

 private:
  std::string data_format_;
};

// How far a random change may go: one number reaches as far both ways, two are the ends.
struct Factor {
  Factor(double reach) : values{reach} {}
  Factor(std::initializer_list<double> ends) : values(ends) {}

  struct Ends {
    double low, high;
  };
  // The ends in order; throws unless there are one or two numbers within [lowest, 1].
  Ends ends(const Layer& layer, const char* name, double lowest) const;

  std::vector<double> values;
};

}  // namespace cohort::layers

template <>
struct cohort::FieldCodec<cohort::layers::Factor> {
  static ConfigValue to(const layers::Factor& factor) { return one_or_list(factor.values); }
  static layers::Factor from(const GivenField& given) {
    layers::Factor factor = 0.0;
    factor.values = FieldCodec<std::vector<double>>::from(given);
    return factor;
  }
};

namespace cohort::layers {

// Throws unless they are what affine transforms know.
void check_affine_options(const Layer& layer, const std::string& fill_mode, const std::string& interpolation);

}  // namespace cohort::layers
