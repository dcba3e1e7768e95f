#include "cohort/layers/core/einsum_dense.h"

#include <algorithm>

#include "cohort/core/text.h"
#include "cohort/layers/layer_checks.h"
#include "cohort/ops/array.h"
#include "cohort/ops/einsum.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/variables/initializer_attributes.h"
#include "cohort/variables/initializers/variance_scaling.h"

namespace cohort::layers {
namespace {

// Takes the ellipsis off one end of a term; whether there was one.
bool strip(std::string& term, bool left) {
  if (left ? !term.starts_with("...") : !term.ends_with("...")) return false;
  term.erase(left ? 0 : term.size() - 3, 3);
  return true;
}

bool is_letters(const std::string& term) {
  return !term.empty() &&
         std::all_of(term.begin(), term.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

// The scaling initializers count the kernel's summed axes as inputs and the others as outputs, wherever they stand.
Ref<Initializer> with_axes(const Ref<Initializer>& initializer, const std::vector<std::int64_t>& input_axes,
                           const std::vector<std::int64_t>& output_axes) {
  if (!initializer.as<initializers::VarianceScalingInitializer>()) return initializer;
  std::optional<Attributes> fields = write_initializer(*initializer);
  if (!fields || (fields->has("field.input_axes") && fields->has("field.output_axes"))) return initializer;
  fields->set("field.input_axes", AttributeValue(input_axes));
  fields->set("field.output_axes", AttributeValue(output_axes));
  return read_initializer(*fields);
}

}  // namespace

EinsumDenseLayer::EinsumDenseLayer(std::string equation, Shape output_shape, EinsumDenseOptions options)
    : equation_(std::move(equation)), output_shape_(output_shape), options_(std::move(options)) {
  take_options(options_);
  EinsumDenseLayer::fields_changed();
}

void EinsumDenseLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("output_shape", output_shape_);
  visitor.field("equation", equation_);
  visit_options(options_, visitor);
  std::optional<std::string> none;  // quantisation is not supported
  visitor.field("quantization_config", none);
}

void EinsumDenseLayer::fields_changed() {
  activity_regularizer_ = options_.activity_regularizer;
  const auto fail = [this](const std::string& expected) {
    throw invalid_argument(class_name(), expected, {{"equation", in_quotes(equation_)}},
                           "Write it as 'ab,bc->ac', '...b,bc->...c' or 'ab...,bc->ac...'.");
  };
  const std::size_t comma = equation_.find(','), arrow = equation_.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow) {
    fail("the equation must name the axes of the input, the kernel and the output");
  }
  input_labels_ = equation_.substr(0, comma);
  kernel_labels_ = equation_.substr(comma + 1, arrow - comma - 1);
  output_labels_ = equation_.substr(arrow + 2);
  left_elided_ = strip(input_labels_, true);
  right_elided_ = !left_elided_ && strip(input_labels_, false);
  if (strip(output_labels_, true) != left_elided_ || (!left_elided_ && strip(output_labels_, false) != right_elided_) ||
      !is_letters(input_labels_) || !is_letters(kernel_labels_) || !is_letters(output_labels_)) {
    fail("axes are letters, with '...' on the same side of the input and the output");
  }
  for (char label : output_labels_) {
    if (input_labels_.find(label) == std::string::npos && kernel_labels_.find(label) == std::string::npos) {
      fail(std::string("the output's axis '") + label + "' must be one of the input or the kernel");
    }
  }
  for (char label : kernel_labels_) {
    if (input_labels_.find(label) == std::string::npos && output_labels_.find(label) == std::string::npos) {
      fail(std::string("the kernel's axis '") + label + "' must be one of the input or the output");
    }
  }
  for (char label : options_.bias_axes.value_or("")) {
    if (output_labels_.find(label) == std::string::npos) {
      throw invalid_argument(class_name(), "bias_axes must be axes of the output " + in_quotes(output_labels_),
                             {{"bias_axes", in_quotes(*options_.bias_axes)}});
    }
  }
  summed_ = is_plain_product() ? static_cast<int>(std::count_if(
                                     kernel_labels_.begin(), kernel_labels_.end(),
                                     [this](char label) { return output_labels_.find(label) == std::string::npos; }))
                               : 0;
}

// [rows, summed] x [summed, columns] -> [rows, columns] after joining axes, and the bias varies along all columns: one
// matrix product with a bias, nothing to transpose.
bool EinsumDenseLayer::is_plain_product() const {
  if (right_elided_) return false;
  std::size_t summed = 0;
  while (summed < kernel_labels_.size() && output_labels_.find(kernel_labels_[summed]) == std::string::npos) ++summed;
  const std::string columns = kernel_labels_.substr(summed);
  if (summed == 0 || columns.empty() || !input_labels_.ends_with(kernel_labels_.substr(0, summed))) return false;
  const std::string rows = input_labels_.substr(0, input_labels_.size() - summed);
  return output_labels_ == rows + columns && columns.find_first_of(rows) == std::string::npos &&
         (!options_.bias_axes || *options_.bias_axes == columns);
}

void EinsumDenseLayer::build(const Shape& input) {
  const int named = static_cast<int>(input_labels_.size()), elided = input.rank() - named;
  if (elided < 0 || (elided > 0 && !left_elided_ && !right_elided_)) {
    throw invalid_argument(title(), "input must have an axis for each label of " + in_quotes(equation_),
                           {{"input.shape", input}});
  }
  // The output's labelled axes: the first is the batch unless an ellipsis stands for it, the rest is output_shape's.
  const int first = left_elided_ && elided > 0 ? elided : 0;
  const int given = static_cast<int>(output_labels_.size()) - (first > 0 ? 0 : 1);
  if (output_shape_.rank() != given) {
    throw invalid_argument(title(), "output_shape must have " + std::to_string(given) + " axes",
                           {{"output_shape", output_shape_}, {"equation", equation_}, {"input.shape", input}});
  }
  const auto input_size = [&](char label) {
    const std::size_t at = input_labels_.find(label);
    return at == std::string::npos ? kUnknown : input[static_cast<int>(at) + (left_elided_ ? elided : 0)];
  };
  const auto output_size = [&](std::size_t at) {
    if (first == 0 && at == 0) return input[0];
    return output_shape_[static_cast<int>(at) - (first > 0 ? 0 : 1)];
  };
  std::vector<std::int64_t> kernel_shape, input_axes, output_axes;
  for (char label : input_labels_) {
    const std::size_t at = output_labels_.find(label);
    if (at == std::string::npos || output_size(at) == kUnknown || output_size(at) == input_size(label)) continue;
    throw invalid_argument(title(), std::string("axis '") + label + "' must have one size in input and output",
                           {{"input.shape", input}, {"output_shape", output_shape_}, {"equation", equation_}});
  }
  for (std::size_t i = 0; i < kernel_labels_.size(); ++i) {
    const std::size_t at = output_labels_.find(kernel_labels_[i]);
    kernel_shape.push_back(at != std::string::npos ? output_size(at) : input_size(kernel_labels_[i]));
    (at != std::string::npos ? output_axes : input_axes).push_back(static_cast<std::int64_t>(i));
  }
  kernel_ = add_weight("kernel", Shape(kernel_shape),
                       {.initializer = with_axes(options_.kernel_initializer, input_axes, output_axes),
                        .dtype = dtype(),
                        .regularizer = options_.kernel_regularizer,
                        .constraint = options_.kernel_constraint});
  built_rank_ = input.rank();
  if (!options_.bias_axes) return;
  const std::string& axes = *options_.bias_axes;
  Shape bias_shape;
  for (std::size_t at = output_labels_.find_first_of(axes); at < output_labels_.size(); ++at) {
    bias_shape.push_back(axes.find(output_labels_[at]) == std::string::npos ? 1 : output_size(at));
  }
  for (int i = 0; right_elided_ && i < elided; ++i) bias_shape.push_back(1);
  bias_ = add_weight("bias", bias_shape,
                     {.initializer = options_.bias_initializer,
                      .dtype = dtype(),
                      .regularizer = options_.bias_regularizer,
                      .constraint = options_.bias_constraint});
}

Tensor EinsumDenseLayer::plain_product(const Tensor& input) const {
  const Shape &kernel = kernel_.shape(), columns = kernel.slice(summed_);
  const int rows = input.rank() - summed_;
  const Tensor matrix = ops::merge_axes(ops::merge_axes(input, rows, summed_), 0, rows);
  const std::int64_t width = columns.num_elements();
  Tensor output = ops::matmul(matrix, ops::reshape(kernel_, {-1, width}));
  if (bias_.defined()) output = output + ops::reshape(bias_, {width});
  std::vector<std::int64_t> split{-1};
  split.insert(split.end(), columns.begin(), columns.end());
  if (columns.rank() > 1) output = ops::reshape(output, split);
  return ops::unmerge_axis(output, input, 0, 0, rows);
}

Tensor EinsumDenseLayer::call(const Tensor& input, const CallContext&) {
  check_rank(*this, input.shape(), built_rank_, ("as in '" + equation_ + "' when it was built").c_str());
  const Tensor x = ops::cast(input, compute_dtype());
  Tensor output;
  if (summed_ > 0) {
    for (int i = 0; i < summed_; ++i) {
      const std::int64_t size = input.shape()[built_rank_ - summed_ + i];
      if (size == kernel_.shape()[i] || size == kUnknown) continue;
      throw invalid_argument(title(), "the last axes of the input must have the kernel's sizes",
                             {{"input.shape", input.shape()}, {"kernel.shape", kernel_.shape()}});
    }
    output = plain_product(x);
  } else {
    output = ops::einsum(equation_, {x, kernel_});
    if (bias_.defined()) output = output + bias_;
  }
  return options_.activation ? (*options_.activation)(output) : output;
}

COHORT_REGISTER(Layer, EinsumDenseLayer, "EinsumDense");

EinsumDense::EinsumDense(std::string equation, Shape output_shape, EinsumDenseOptions options)
    : LayerHandle<EinsumDenseLayer>(
          std::make_shared<EinsumDenseLayer>(std::move(equation), output_shape, std::move(options))) {}

}  // namespace cohort::layers
