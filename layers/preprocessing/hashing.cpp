#include "cohort/layers/preprocessing/hashing.h"

#include "cohort/layers/preprocessing/encode_categories.h"
#include "cohort/ops/math.h"
#include "cohort/ops/text.h"

namespace cohort::layers {

HashingLayer::HashingLayer(std::int64_t num_bins, HashingOptions options)
    : num_bins_(num_bins), options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  set_dtype_policy(options_.dtype.value_or(options_.output_mode == "int" ? DTypePolicy(DType::Int64) : DTypePolicy()));
  HashingLayer::fields_changed();
}

void HashingLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("num_bins", num_bins_);
  visit_options(options_, visitor);
}

void HashingLayer::fields_changed() {
  check_output_mode(*this, options_.output_mode, /*with_int=*/true, /*with_tf_idf=*/false);
  refuse_sparse(*this, options_.sparse);
  if (num_bins_ < 1) throw invalid_argument(class_name(), "num_bins must be positive", {{"num_bins", num_bins_}});
  if (options_.output_mode == "int" && !is_integer(dtype())) {
    throw invalid_argument(class_name(), "dtype must be an integer type with output_mode 'int'", {{"dtype", dtype()}});
  }
  if (options_.salt && options_.salt->size() == 1) options_.salt->push_back(options_.salt->front());
  if (options_.salt && options_.salt->size() != 2) {
    throw invalid_argument(class_name(), "salt must be one number or two", {{"numbers", options_.salt->size()}});
  }
}

Tensor HashingLayer::call(const Tensor& input, const CallContext&) {
  const Tensor values = is_floating(input.dtype()) ? ops::cast(input, DType::Int64) : input;
  const bool masked = options_.mask_value && num_bins_ > 1;
  Tensor bins = ops::hash_buckets(values, masked ? num_bins_ - 1 : num_bins_,
                                  options_.salt.value_or(std::vector<std::int64_t>{}));
  if (masked) {
    Tensor is_mask;
    const auto* text = std::get_if<std::string>(&*options_.mask_value);
    if ((text != nullptr) != (values.dtype() == DType::String)) {
      throw invalid_argument(title(), "mask_value must be of the inputs' type", {{"inputs", input.spec()}});
    }
    if (text) {
      const Tensor place = ops::lookup_index(values, {.vocabulary = Tensor::of_strings({*text}, {1}), .oov_index = 1});
      is_mask = ops::equal(place, 0.0);
    } else {
      is_mask = ops::equal(values, static_cast<double>(std::get<std::int64_t>(*options_.mask_value)));
    }
    bins = ops::where(is_mask, 0.0, bins + 1.0);
  }
  return encode_categories(bins, options_.output_mode, num_bins_, dtype());
}

COHORT_REGISTER(Layer, HashingLayer, "Hashing");

Hashing::Hashing(std::int64_t num_bins, HashingOptions options)
    : LayerHandle<HashingLayer>(std::make_shared<HashingLayer>(num_bins, std::move(options))) {}

}  // namespace cohort::layers
