#include <span>

#include "cohort/core/op.h"
#include "cohort/kernels/fusion.h"

namespace cohort::ops {
namespace {

using Integers = std::vector<std::int64_t>;

// Walks the instructions as if each were an op of its own: graphs come from files and peers, so nothing is taken on
// trust. An operand below the number of inputs is an input, above it the result of an earlier instruction.
Specs infer_fused(const OpCall& call) {
  const auto ops = call.attr<std::vector<std::string>>("ops");
  const auto arity = call.attr<Integers>("arity"), args = call.attr<Integers>("args"),
             dtypes = call.attr<Integers>("dtypes"), results = call.attr<Integers>("results");
  call.check(!ops.empty() && ops.size() == arity.size() && ops.size() == dtypes.size(),
             "every instruction needs an op, an arity and a type",
             {{"ops", ops.size()}, {"arity", arity.size()}, {"dtypes", dtypes.size()}});
  call.check(!results.empty(), "at least one instruction must be a result");

  Shape common;
  Specs values;
  for (int i = 0; i < call.num_inputs(); ++i) {
    values.push_back(call.spec(i));
    common = broadcast_shapes(common, call.shape(i), call.name());
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Specs operands;
    for (std::int64_t n = 0; n < arity[i]; ++n, ++next) {
      call.check(next < args.size() && args[next] >= 0 && args[next] < static_cast<std::int64_t>(values.size()),
                 "an operand must be an input or an earlier instruction", {{"instruction", i}, {"operand", n}});
      operands.push_back(values[static_cast<std::size_t>(args[next])]);
    }
    const OpDef& op = find_op(ops[i]);
    call.check(kernels::fusible(op, operands), "every instruction must be an elementwise op", {{"op", ops[i]}});
    call.check(dtypes[i] >= 0 && dtypes[i] < kDTypeCount, "a known type is expected", {{"dtype", dtypes[i]}});
    const DType dtype = static_cast<DType>(dtypes[i]);
    const Attributes attributes = ops[i] == "Cast" ? Attributes{{"dtype", dtype}} : Attributes{};
    const TensorSpec value = op.infer_outputs(operands, attributes)[0];
    call.check(value.dtype == dtype, "an instruction's type must be the one its op gives",
               {{"op", ops[i]}, {"dtype", dtype}, {"gives", value.dtype}});
    values.push_back(value);
  }
  call.check(next == args.size(), "every operand must belong to an instruction", {{"args", args.size()}});

  Specs outputs;
  for (std::int64_t result : results) {
    call.check(result >= 0 && result < static_cast<std::int64_t>(ops.size()), "a result must be an instruction",
               {{"result", result}});
    const TensorSpec& value = values[static_cast<std::size_t>(call.num_inputs() + result)];
    call.check(value.shape.compatible(common), "every result must have the common shape of all inputs",
               {{"result.shape", value.shape}, {"common", common}});
    outputs.push_back({value.dtype, common});
  }
  return outputs;
}

}  // namespace

// Several elementwise ops in one pass over memory; made by the fuse pass only.
COHORT_OP("FusedElementwise").inputs(1, -1).elementwise().not_differentiable().infer(infer_fused);

}  // namespace cohort::ops
