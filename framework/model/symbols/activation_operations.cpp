#include "cohort/model/activations.h"

#include "cohort/model/symbols/operation_table.h"
#include "cohort/ops/array.h"

// Keras's activations as operations (and ravel): what a functional model holds where one was called on a symbol.
namespace cohort {
namespace {

using Kind = OperationField::Kind;
using Plain = Tensor (*)(const Tensor&);
using WithNumber = Tensor (*)(const Tensor&, double);
using WithAxis = Tensor (*)(const Tensor&, int);

void add(const char* module, const char* name, std::vector<OperationField> fields,
         std::function<Tensor(const Tensor&, const Attributes&)> function) {
  operations::add_typed_operation(
      module, name, {"x"}, std::move(fields),
      [function = std::move(function)](const operations::Arguments& arguments, const Attributes& config) {
        return Element(function(arguments[0].leaf(), config));
      });
}

void add_plain(const char* name, Plain function) {
  add("nn", name, {}, [function](const Tensor& x, const Attributes&) { return function(x); });
}

void add_with_number(const char* name, const char* field, WithNumber function) {
  add("nn", name, {{field, Kind::Number}},
      [function, field = std::string(field)](const Tensor& x, const Attributes& config) {
        return function(x, config.get<double>(field));
      });
}

void add_with_axis(const char* name, WithAxis function) {
  add("nn", name, {{"axis", Kind::Integer}}, [function](const Tensor& x, const Attributes& config) {
    return function(x, static_cast<int>(config.get<std::int64_t>("axis")));
  });
}

const bool activations_registered = [] {
  add_plain("Silu", activations::silu);
  add_plain("Selu", activations::selu);
  add_plain("HardSigmoid", activations::hard_sigmoid);
  add_plain("HardSilu", activations::hard_silu);
  add_plain("HardTanh", activations::hard_tanh);
  add_plain("TanhShrink", activations::tanh_shrink);
  add_plain("SparsePlus", activations::sparse_plus);
  add_plain("SparseSigmoid", activations::sparse_sigmoid);
  add_plain("LogSigmoid", activations::log_sigmoid);
  add_plain("Softsign", activations::softsign);
  add_with_number("Elu", "alpha", activations::elu);
  add_with_number("Celu", "alpha", activations::celu);
  add_with_number("LeakyRelu", "negative_slope", activations::leaky_relu);
  add_with_number("HardShrink", "threshold", activations::hard_shrink);
  add_with_number("SoftShrink", "threshold", activations::soft_shrink);
  add_with_number("Squareplus", "b", activations::squareplus);
  add_with_axis("Glu", activations::glu);
  add_with_axis("Sparsemax", activations::sparsemax);
  add("nn", "Gelu", {{"approximate", Kind::Bool}},
      [](const Tensor& x, const Attributes& config) { return activations::gelu(x, config.get<bool>("approximate")); });
  add("nn", "Threshold", {{"threshold", Kind::Number}, {"default_value", Kind::Number}},
      [](const Tensor& x, const Attributes& config) {
        return activations::threshold(x, config.get<double>("threshold"), config.get<double>("default_value"));
      });
  add("numpy", "Ravel", {}, [](const Tensor& x, const Attributes&) { return ops::reshape(x, {-1}); });
  return true;
}();

}  // namespace
}  // namespace cohort
