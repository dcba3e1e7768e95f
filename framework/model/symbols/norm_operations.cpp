#include "cohort/model/symbols/operation_table.h"
#include "cohort/model/symbols/symbolic_nn.h"
#include "cohort/ops/linalg.h"
#include "cohort/ops/norms.h"

// Keras's norms and normalizations as operations.
namespace cohort {
namespace {

using operations::Arguments;
using operations::integers_of;
using operations::number_of;
using operations::optional_tensor;

// Keras asks for each argument of these calls, null where there is none.
void add_normalization(const char* name, std::vector<std::string> arguments, const std::vector<std::string>& fields,
                       operations::Compute compute) {
  operations::add_operation("nn", name, std::move(arguments), fields, std::move(compute), /*lists_all_arguments=*/true);
}

ops::linalg::NormOrder order_of(const Attributes& config) {
  const AttributeValue* order = config.find("ord");
  if (!order) return {};
  if (std::holds_alternative<std::string>(*order)) return operations::text_of(config, "ord");
  return number_of(config, "ord");
}

[[maybe_unused]] const bool norms_registered = [] {
  operations::add_operation(
      "linalg", "Norm", {"x"}, {"ord", "axis", "keepdims"}, [](const Arguments& a, const Attributes& config) {
        return Element(ops::linalg::norm(a[0].leaf(), order_of(config), operations::axes_of(config),
                                         operations::keeps_dims(config)));
      });
  add_normalization("LayerNorm", {"x", "gamma", "beta"}, {"axis", "epsilon", "rms_scaling"},
                    [](const Arguments& a, const Attributes& config) {
                      return Element(ops::layer_normalization(
                          a[0].leaf(), optional_tensor(a[1]), optional_tensor(a[2]), integers_of(config, "axis", {-1}),
                          number_of(config, "epsilon", kEpsilon), operations::bool_of(config, "rms_scaling")));
                    });
  add_normalization("RMSNorm", {"x", "scale"}, {"axis", "epsilon"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::rms_normalization(a[0].leaf(), optional_tensor(a[1]), integers_of(config, "axis", {-1}),
                                          number_of(config, "epsilon", kEpsilon)));
  });
  add_normalization("BatchNorm", {"x", "mean", "variance", "offset", "scale"}, {"axis", "epsilon"},
                    [](const Arguments& a, const Attributes& config) {
                      return Element(ops::batch_normalization(
                          a[0].leaf(), a[1].leaf(), a[2].leaf(), integers_of(config, "axis", {-1}),
                          optional_tensor(a[3]), optional_tensor(a[4]), number_of(config, "epsilon", 1e-3)));
                    });
  return true;
}();

}  // namespace

namespace ops {

using operations::argument_of;
using operations::call_one;
using operations::with_axes;

SymbolicTensor layer_normalization(const SymbolicTensor& x, const SymbolicOperand& gamma, const SymbolicOperand& beta,
                                   const Axes& axis, double epsilon, bool rms_scaling) {
  return call_one("nn>LayerNorm", {x, argument_of(gamma), argument_of(beta)},
                  with_axes({{"epsilon", epsilon}, {"rms_scaling", rms_scaling}}, axis.values));
}
SymbolicTensor rms_normalization(const SymbolicTensor& x, const SymbolicOperand& scale, const Axes& axis,
                                 double epsilon) {
  return call_one("nn>RMSNorm", {x, argument_of(scale)}, with_axes({{"epsilon", epsilon}}, axis.values));
}
SymbolicTensor batch_normalization(const SymbolicTensor& x, const SymbolicOperand& mean,
                                   const SymbolicOperand& variance, const Axes& axis, const SymbolicOperand& offset,
                                   const SymbolicOperand& scale, double epsilon) {
  return call_one("nn>BatchNorm",
                  {x, argument_of(mean), argument_of(variance), argument_of(offset), argument_of(scale)},
                  with_axes({{"epsilon", epsilon}}, axis.values));
}

}  // namespace ops
}  // namespace cohort
