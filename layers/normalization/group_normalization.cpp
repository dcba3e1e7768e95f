#include "cohort/layers/normalization/group_normalization.h"

#include "cohort/layers/normalization/normalized_axes.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::layers {

GroupNormalizationLayer::GroupNormalizationLayer(std::int64_t groups, GroupNormalizationOptions options)
    : groups_(groups), options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
  GroupNormalizationLayer::fields_changed();
}

void GroupNormalizationLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("groups", groups_);
  visit_options(options_, visitor);
}

void GroupNormalizationLayer::fields_changed() {
  if (groups_ > 0 || groups_ == -1) return;
  throw invalid_argument(class_name(), "groups must be positive, or -1 for a group of each channel",
                         {{"groups", groups_}});
}

void GroupNormalizationLayer::build(const Shape& input) {
  const auto axis = static_cast<int>(normalized_axes(*this, {options_.axis}, input)[0]);
  const std::int64_t channels = input[axis];
  if (groups_ == -1) groups_ = channels;
  if (axis == 0 || channels == kUnknown || channels % groups_ != 0) {
    throw invalid_argument(title(), "groups must divide the number of channels, which must be known",
                           {{"groups", groups_}, {"axis", options_.axis}, {"input.shape", input}},
                           "Use a number of groups that divides the channels, or -1.");
  }
  if (options_.scale) {
    gamma_ = add_weight("gamma", {channels},
                        {.initializer = options_.gamma_initializer,
                         .dtype = dtype(),
                         .regularizer = options_.gamma_regularizer,
                         .constraint = options_.gamma_constraint,
                         .autocast = false});
  }
  if (options_.center) {
    beta_ = add_weight("beta", {channels},
                       {.initializer = options_.beta_initializer,
                        .dtype = dtype(),
                        .regularizer = options_.beta_regularizer,
                        .constraint = options_.beta_constraint,
                        .autocast = false});
  }
}

Tensor GroupNormalizationLayer::call(const Tensor& input, const CallContext&) {
  const DType result = compute_dtype();
  const Tensor x = ops::cast(input, promote(input.dtype(), DType::Float32));
  const auto axis = static_cast<int>(normalized_axes(*this, {options_.axis}, x.shape())[0]);
  // The channels become two axes, (groups, channels of a group); all axes but batch and groups are normalized together.
  const Shape& shape = x.shape();
  std::vector<std::int64_t> sizes, spread(static_cast<std::size_t>(x.rank()) + 1, 1), reduced;
  bool static_sizes = true;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis) sizes.push_back(groups_);
    sizes.push_back(i == 0 ? -1 : i == axis ? shape[i] / groups_ : shape[i]);
    static_sizes = static_sizes && (i == 0 || shape[i] != kUnknown);
  }
  for (int i = 1; i <= x.rank(); ++i) {
    if (i != axis) reduced.push_back(i);
  }
  spread[static_cast<std::size_t>(axis)] = groups_;
  spread[static_cast<std::size_t>(axis) + 1] = -1;
  if (!static_sizes) {
    throw invalid_argument(title(), "all axes of the input but the batch must be known", {{"input.shape", shape}});
  }
  const Tensor grouped = ops::reshape(x, sizes);
  const Tensor centered = grouped - ops::mean(grouped, reduced, ops::keep_dims);
  const Tensor r = ops::rsqrt(ops::mean(ops::square(centered), reduced, ops::keep_dims) + options_.epsilon);
  Tensor y = centered * r;
  if (options_.scale) y = y * ops::reshape(ops::cast(gamma_, x.dtype()), spread);
  if (options_.center) y = y + ops::reshape(ops::cast(beta_, x.dtype()), spread);
  return ops::cast(ops::reshape_like(y, x), result);
}

COHORT_REGISTER(Layer, GroupNormalizationLayer, "GroupNormalization");

GroupNormalization::GroupNormalization(std::int64_t groups, GroupNormalizationOptions options)
    : LayerHandle<GroupNormalizationLayer>(std::make_shared<GroupNormalizationLayer>(groups, std::move(options))) {}

}  // namespace cohort::layers
