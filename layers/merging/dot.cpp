#include "cohort/layers/merging/dot.h"

#include "cohort/ops/array.h"
#include "cohort/ops/einsum.h"
#include "cohort/ops/math.h"

namespace cohort::layers {
namespace {

Tensor to_unit_length_along(const Tensor& x, std::int64_t axis) {
  constexpr double kEpsilon = 1e-7;
  const ops::Axes axes(std::vector<std::int64_t>{axis});
  return x * ops::rsqrt(ops::maximum(ops::sum(ops::square(x), axes, ops::keep_dims), kEpsilon * kEpsilon));
}

}  // namespace

DotLayer::DotLayer(ops::Axes axes, DotOptions options) : axes_(std::move(axes)), options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
  DotLayer::fields_changed();
}

void DotLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("axes", axes_);
  visit_options(options_, visitor);
}

void DotLayer::fields_changed() {
  if (axes_.values.size() == 1 || axes_.values.size() == 2) return;
  throw invalid_argument(class_name(), "axes must be one number or two, one for each input",
                         {{"axes", Shape(axes_.values)}});
}

std::vector<std::int64_t> DotLayer::axes_of(const Shape& first, const Shape& second) const {
  std::vector<std::int64_t> axes = {axes_.values.front(), axes_.values.back()};
  const Shape* shapes[] = {&first, &second};
  for (std::size_t i = 0; i < 2; ++i) {
    const int rank = shapes[i]->rank();
    if (axes[i] < 0) axes[i] += rank;
    if (rank < 2 || axes[i] < 1 || axes[i] >= rank) {
      throw invalid_argument(title(), "each axis must be one of its input's, other than the batch",
                             {{"axes", Shape(axes_.values)}, {"input.shape", *shapes[i]}});
    }
  }
  const std::int64_t a = first[static_cast<int>(axes[0])], b = second[static_cast<int>(axes[1])];
  if (a != b && a != kUnknown && b != kUnknown) {
    throw invalid_argument(title(), "the axes that are summed over must have one size",
                           {{"axes", Shape(axes)}, {"inputs[0].shape", first}, {"inputs[1].shape", second}});
  }
  return axes;
}

void DotLayer::build_many(const std::vector<Shape>& inputs) {
  if (inputs.size() != 2) {
    throw invalid_argument(title(), "exactly two inputs are expected", {{"inputs", inputs.size()}});
  }
  axes_of(inputs[0], inputs[1]);
}

Tensor DotLayer::call(const Tensor& input, const CallContext&) {
  throw invalid_argument(title(), "a list of two inputs is expected", {{"input.shape", input.shape()}},
                         "Call it with {a, b}.");
}

Tensor DotLayer::call_many(const Tensors& inputs, const CallContext&) {
  if (inputs.size() != 2) {
    throw invalid_argument(title(), "exactly two inputs are expected", {{"inputs", inputs.size()}});
  }
  const std::vector<std::int64_t> axes = axes_of(inputs[0].shape(), inputs[1].shape());
  Tensors operands = inputs;
  std::string equation, output = "a";
  char next = 'b';
  constexpr char kSummed = 'z';
  for (std::size_t i = 0; i < 2; ++i) {
    if (options_.normalize) operands[i] = to_unit_length_along(operands[i], axes[i]);
    equation += i == 0 ? "a" : ",a";
    for (int axis = 1; axis < operands[i].rank(); ++axis) {
      const char label = axis == axes[i] ? kSummed : next++;
      equation += label;
      if (label != kSummed) output += label;
    }
  }
  const Tensor products = ops::einsum(equation + "->" + output, operands);
  return output.size() == 1 ? ops::expand_dims(products, 1) : products;
}

Element DotLayer::compute_mask(const Element&, const Element&) { return {}; }

COHORT_REGISTER(Layer, DotLayer, "Dot");

Dot::Dot(ops::Axes axes, DotOptions options)
    : LayerHandle<DotLayer>(std::make_shared<DotLayer>(std::move(axes), std::move(options))) {}

}  // namespace cohort::layers
