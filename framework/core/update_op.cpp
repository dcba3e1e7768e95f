#include "cohort/core/update_op.h"

#include "cohort/core/mixed_types.h"

namespace cohort {
namespace {

void check_per_variable(const OpCall& call, const UpdateLayout& at, const UpdateOptions& options) {
  for (int i = 0; i < at.gradient(0); ++i) {
    call.check(call.dtype(i) == DType::Resource, "variables and slots must come before gradients",
               {{"input", i}, {"dtype", call.dtype(i)}});
  }
  const DType computed = compute_type(call, at.gradient(0));
  const bool mixed = call.has_attr(kComputeType);
  call.check(!mixed || (computed == DType::Float32 && UpdateLayout::rounds(call.op()) && !at.has_squares()),
             "this update takes no gradients of half types for variables of this type", {{kComputeType, computed}});
  for (int i = 0; i < at.count(); ++i) {
    const TensorSpec& gradient = call.spec(at.gradient(i));
    call.check(is_floating(computed) && (mixed ? widens_to(gradient.dtype, computed) : gradient.dtype == computed),
               "gradients must be floating and of one type", {{"gradient", gradient}});
    if (options.check_gradient) options.check_gradient(call, gradient.shape);
    if (at.has_rounded()) {
      call.check(call.dtype(at.rounded(i)) == DType::Resource && computed == DType::Float32,
                 "rounded copies are variables, of float32 variables",
                 {{"copy", call.spec(at.rounded(i))}, {"gradient", gradient}});
    }
    if (!at.has_squares()) continue;
    const TensorSpec& squares = call.spec(at.squares(i));
    call.check(squares.dtype == gradient.dtype && squares.shape.compatible(gradient.shape),
               "squares must have the types and shapes of the gradients",
               {{"squares", squares}, {"gradient", gradient}});
  }
}

// Kernels trust these numbers with memory: they are exact, as graphs also come from elsewhere.
Specs check_update(const OpCall& call, const UpdateOptions& options) {
  const UpdateLayout at(call);
  const int slots = options.slots + (options.more_slots ? options.more_slots(call) : 0);
  const int num_shared = static_cast<int>(options.shared.size());
  call.check(at.slots() == slots && at.num_shared() == num_shared, "another number of slots or scalars is expected",
             {{"slots", at.slots()}, {"expected", slots}, {"scalars", at.num_shared()}, {"expected", num_shared}});
  check_per_variable(call, at, options);
  for (int k = 0; k < num_shared; ++k) {
    const UpdateScalar& wanted = options.shared[static_cast<std::size_t>(k)];
    const TensorSpec& given = call.spec(at.shared(k));
    call.check(given.dtype == wanted.dtype && given.shape.rank() == 0,
               std::string(wanted.name) + " must be a scalar of type " + to_string(wanted.dtype),
               {{wanted.name, given}});
  }
  return {};
}

VariableClaims claims_of_update(const OpCall& call, const UpdateOptions& options) {
  const UpdateLayout at(call);
  VariableClaims claims;
  for (int i = 0; i < at.count(); ++i) {
    const TensorSpec moved{compute_type(call, at.gradient(0)), call.shape(at.gradient(i))};
    claims.push_back({at.variable(i), moved});
    if (at.has_rounded()) claims.push_back({at.rounded(i), {at.rounded_type(), moved.shape}});
    for (int kind = 0; kind < at.slots(); ++kind) {
      claims.push_back({at.slot(i, kind), options.slot_spec ? options.slot_spec(call, kind, moved) : moved});
    }
  }
  return claims;
}

}  // namespace

OpDef& define_update(std::string name, UpdateOptions options) {
  OpDef& op = register_op(std::move(name));
  op.inputs(options.slots + 2 + static_cast<int>(options.shared.size()), -1);
  UpdateLayout::add_defaults(op, options.slots, options.rounds);
  op.attr("weight_decay", 0.0);
  for (const Attributes::Entry& option : options.attributes) op.attr(option.name, option.value);
  return op.writes()
      .infer([options](const OpCall& call) { return check_update(call, options); })
      .claims([options](const OpCall& call) { return claims_of_update(call, options); })
      .not_differentiable();
}

}  // namespace cohort
