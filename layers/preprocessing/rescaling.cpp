#include "cohort/layers/preprocessing/rescaling.h"

#include "cohort/ops/math.h"

namespace cohort {

ConfigValue FieldCodec<layers::RescalingFactors>::to(const layers::RescalingFactors& factors) {
  return factors.listed ? FieldCodec<std::vector<double>>::to(factors.numbers) : ConfigValue(factors.numbers[0]);
}

layers::RescalingFactors FieldCodec<layers::RescalingFactors>::from(const GivenField& given) {
  layers::RescalingFactors factors = 0.0;
  factors.numbers = FieldCodec<std::vector<double>>::from(given);
  factors.listed = !given.value.number();
  return factors;
}

}  // namespace cohort

namespace cohort::layers {
namespace {

Tensor list_of(const RescalingFactors& factors, DType dtype) {
  const std::vector<float> numbers(factors.numbers.begin(), factors.numbers.end());
  return ops::cast(Tensor::of<float>(numbers, {static_cast<std::int64_t>(numbers.size())}), dtype);
}

}  // namespace

RescalingLayer::RescalingLayer(RescalingFactors scale, RescalingOptions options)
    : scale_(std::move(scale)), options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
  RescalingLayer::fields_changed();
}

void RescalingLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("scale", scale_);
  visit_options(options_, visitor);
}

void RescalingLayer::fields_changed() {
  if (scale_.numbers.empty() || options_.offset.numbers.empty()) {
    throw invalid_argument(
        class_name(), "scale and offset must be numbers or lists with a number for each channel",
        {{"numbers in scale", scale_.numbers.size()}, {"numbers in offset", options_.offset.numbers.size()}});
  }
}

Tensor RescalingLayer::call(const Tensor& input, const CallContext&) {
  const DType dtype = compute_dtype();
  const Tensor x = ops::cast(input, dtype);
  const Tensor scaled = scale_.listed ? x * list_of(scale_, dtype) : x * scale_.numbers[0];
  const RescalingFactors& offset = options_.offset;
  if (offset.are(0.0)) return scaled;
  return offset.listed ? scaled + list_of(offset, dtype) : scaled + offset.numbers[0];
}

COHORT_REGISTER(Layer, RescalingLayer, "Rescaling");

Rescaling::Rescaling(RescalingFactors scale, RescalingOptions options)
    : LayerHandle<RescalingLayer>(std::make_shared<RescalingLayer>(std::move(scale), std::move(options))) {}

}  // namespace cohort::layers
