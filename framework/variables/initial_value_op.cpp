// An initializer's call as an op, so that the task where a variable lives can compute its first value.

#include <cstring>

#include "cohort/core/kernel.h"
#include "cohort/variables/initializer_attributes.h"

namespace cohort {
namespace {

Specs infer_initial_value(const OpCall& call) {
  TensorSpec result{call.attr<DType>("dtype"), call.attr<Shape>("shape")};
  const auto first = call.attr<std::int64_t>("first_row"), rows = call.attr<std::int64_t>("rows");
  call.check(result.shape.fully_known() && is_plain(result.dtype), "a known shape and a plain type are expected",
             {{"value", result}});
  if (result.shape.rank() == 0) {
    call.check(first == 0 && rows == 0, "a scalar has no rows", {{"first_row", first}, {"rows", rows}});
  } else {
    call.check(first >= 0 && rows >= 0 && rows <= result.shape[0] - first, "rows must lie within the value",
               {{"first_row", first}, {"rows", rows}, {"shape", result.shape}});
    result.shape[0] = rows;
  }
  return {result};
}

// Its attributes are those of compute_initial_value.
COHORT_OP("InitialValue").inputs(0).host_only().infer(infer_initial_value).not_differentiable();

KernelFn make_initial_value(const KernelSpec& spec) {
  read_initializer(spec.call().attributes());  // what is wrong with it shows before it runs
  return [attributes = spec.call().attributes()](const KernelIO& io) {
    const Tensor value = compute_initial_value(attributes).to_host();
    if (value.bytes() > 0) std::memcpy(io.out<char>(0), value.raw(), value.bytes());
  };
}
COHORT_KERNEL("InitialValue", kCPU, make_initial_value);

}  // namespace
}  // namespace cohort
