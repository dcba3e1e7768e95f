#include "cohort/layers/preprocessing/discretization.h"

#include "cohort/layers/preprocessing/encode_categories.h"
#include "cohort/layers/preprocessing/quantile_summary.h"
#include "cohort/ops/categories.h"

namespace cohort::layers {

DiscretizationLayer::DiscretizationLayer(DiscretizationOptions options) : options_(std::move(options)) {
  take_options(options_);
  if (options_.num_bins && options_.bin_boundaries) {
    throw invalid_argument(class_name(), "num_bins and bin_boundaries cannot both be given",
                           {{"num_bins", *options_.num_bins}});
  }
  DiscretizationLayer::fields_changed();
}

// Keras writes neither `trainable` nor a policy for this layer.
void DiscretizationLayer::visit_fields(FieldVisitor& visitor) {
  visit_options(options_, visitor);
  std::string name = visitor.reads_config() ? std::string() : this->name();
  visitor.field("name", name);
  if (!name.empty()) set_name(name);
  std::string policy = dtype_policy().name();
  visitor.field("dtype", policy);
  if (visitor.reads_config()) set_dtype_policy(DTypePolicy(policy));
}

void DiscretizationLayer::fields_changed() {
  check_output_mode(*this, options_.output_mode, /*with_int=*/true, /*with_tf_idf=*/false);
  refuse_sparse(*this, options_.sparse);
  if (!options_.num_bins && !options_.bin_boundaries) {
    throw invalid_argument(class_name(), "num_bins or bin_boundaries must be given");
  }
  if (options_.num_bins && *options_.num_bins < 1) {
    throw invalid_argument(class_name(), "num_bins must be at least 1", {{"num_bins", *options_.num_bins}});
  }
  if (!(options_.epsilon > 0.0 && options_.epsilon <= 1.0)) {
    throw invalid_argument(class_name(), "epsilon must lie in (0, 1]", {{"epsilon", options_.epsilon}});
  }
}

Tensor DiscretizationLayer::call(const Tensor& input, const CallContext&) {
  if (!options_.bin_boundaries) {
    throw failed_precondition(title(), "the boundaries must be known", {{"num_bins", *options_.num_bins}},
                              "Call adapt() with sample data, or give bin_boundaries.");
  }
  const auto depth = static_cast<std::int64_t>(options_.bin_boundaries->size()) + 1;
  const DType dtype = options_.output_mode == "int" ? DType::Int32 : compute_dtype();
  return encode_categories(ops::bucketize(input, *options_.bin_boundaries), options_.output_mode, depth, dtype);
}

void DiscretizationLayer::check_adaptable() const {
  if (options_.num_bins) return;
  throw failed_precondition(title(), "a layer whose boundaries are given cannot adapt", {}, "Give num_bins.");
}

void DiscretizationLayer::adapt(const Tensor& data) {
  check_adaptable();
  QuantileSummary summary(options_.epsilon);
  summary.add(data.to_vector<float>());
  options_.bin_boundaries = summary.boundaries(*options_.num_bins);
}

void DiscretizationLayer::adapt(const Dataset& data) {
  check_adaptable();
  QuantileSummary summary(options_.epsilon);
  Tensors element;
  for (const auto iterator = data.make_iterator(); iterator->next(element);)
    summary.add(element.at(0).to_vector<float>());
  options_.bin_boundaries = summary.boundaries(*options_.num_bins);
}

COHORT_REGISTER(Layer, DiscretizationLayer, "Discretization");

Discretization::Discretization(DiscretizationOptions options)
    : LayerHandle<DiscretizationLayer>(std::make_shared<DiscretizationLayer>(std::move(options))) {}

}  // namespace cohort::layers
