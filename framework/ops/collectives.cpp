#include "cohort/ops/collectives.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/work_halves.h"
#include "cohort/ops/gradient_or_zeros.h"

namespace cohort::ops {
namespace {

bool can_be_summed(DType dtype) { return is_floating(dtype) || dtype == DType::Int32 || dtype == DType::Int64; }

Specs infer_all_reduce(const OpCall& call) {
  call.check(call.dtype(0) == DType::Resource, "input 0 is what replicas meet by", {{"input", call.spec(0)}});
  Specs outputs;
  for (int i = 1; i < call.num_inputs(); ++i) {
    call.check(can_be_summed(call.dtype(i)), "values must be floating, int32 or int64", {{"value", call.spec(i)}});
    outputs.push_back(call.spec(i));
  }
  return outputs;
}

Tensors reduced(const char* op, const Tensor& collective, const Tensors& values) {
  Tensors inputs{collective};
  inputs.insert(inputs.end(), values.begin(), values.end());
  return run_op_all(op, inputs);
}

// Every replica's result depends on every replica's value, so the gradients are summed in turn.
Tensors gradient_of_sum(const OpCall& call, std::span<const Tensor> dy) {
  Tensors given;
  for (std::size_t i = 0; i < dy.size(); ++i) {
    given.push_back(or_zeros(dy[i], call.input(static_cast<int>(i) + 1)));
  }
  Tensors gradients{Tensor()};
  for (Tensor& sum : all_reduce_sum(call.input(0), given)) gradients.push_back(std::move(sum));
  return gradients;
}

// (collective, values...): the sums over all replicas. Stateful, since all of them must meet in it.
COHORT_OP("AllReduce").inputs(2, -1).infer(infer_all_reduce).stateful().gradient(gradient_of_sum);
COHORT_OP("BroadcastFirst").inputs(2, -1).infer(infer_all_reduce).stateful().not_differentiable();

// (collective, like, indices, values): zeros like `like` with the rows of all replicas added, of which each may have
// another number; and with of_each another table, of what this function (Square, Abs) makes of every value. What
// crosses are rows, where they are fewer than the tables have. For CPUs; slices of replicas use it.
COHORT_OP("AllReduceRows")
    .inputs(4)
    .attr("of_each", "")
    .checks()
    .infer([](const OpCall& call) -> Specs {
      call.check(call.dtype(0) == DType::Resource, "input 0 is what replicas meet by", {{"input", call.spec(0)}});
      call.check(is_integer(call.dtype(2)) && call.rank(2) == 1, "indices must be integers, one behind the other",
                 {{"indices", call.spec(2)}});
      call.check(can_be_summed(call.dtype(3)), "values must be floating, int32 or int64", {{"values", call.spec(3)}});
      Shape expected = call.shape(1);
      call.check(expected.rank() > 0, "a table has rows", {{"like", call.spec(1)}});
      expected[0] = call.shape(2)[0];
      call.check(call.shape(3).compatible(expected), "a row of values for each index is expected",
                 {{"values.shape", call.shape(3)}, {"expected", expected}});
      const std::string of_each = call.attr<std::string>("of_each");
      call.check(of_each.empty() || ((of_each == "Square" || of_each == "Abs") && is_floating(call.dtype(3))),
                 "of_each must be empty, or of floating values Square or Abs",
                 {{"of_each", of_each}, {"values", call.spec(3)}});
      return Specs(of_each.empty() ? 1 : 2, {call.dtype(3), call.shape(1)});
    })
    .stateful()
    .not_differentiable();

// (collective, values...): of each value those of all replicas of this process, one after the other.
COHORT_OP("GatherReplicas")
    .inputs(2, -1)
    .attr("replicas", 1)
    .infer([](const OpCall& call) -> Specs {
      call.check(call.dtype(0) == DType::Resource, "input 0 is what replicas meet by", {{"input", call.spec(0)}});
      const auto replicas = call.attr<std::int64_t>("replicas");
      call.check(replicas >= 1, "replicas must be positive", {{"replicas", replicas}});
      Specs outputs;
      for (int i = 1; i < call.num_inputs(); ++i) {
        call.check(call.dtype(i) != DType::String && call.dtype(i) != DType::Resource,
                   "values must be numbers or truth values", {{"value", call.spec(i)}});
        outputs.insert(outputs.end(), static_cast<std::size_t>(replicas), call.spec(i));
      }
      return outputs;
    })
    .stateful()
    .not_differentiable();

OpDef& in_half(OpDef& op, void (*make)(OpDef&)) {
  make(op);
  return op.inputs(2, -1).infer(infer_all_reduce).not_differentiable();
}

// (collective, values...): where the sums will be.
[[maybe_unused]] const OpDef& all_reduce_start = in_half(register_op("AllReduceStart"), WorkHalves::make_first);
// (collective, what AllReduceStart gave...): the sums.
[[maybe_unused]] const OpDef& all_reduce_wait = in_half(register_op("AllReduceWait"), WorkHalves::make_second);

}  // namespace

Tensors all_reduce_sum(const Tensor& collective, const Tensors& values) {
  return reduced("AllReduce", collective, values);
}

Tensors start_all_reduce_sum(const Tensor& collective, const Tensors& values) {
  return reduced("AllReduceStart", collective, values);
}

Tensors wait_for_all_reduce(const Tensor& collective, const Tensors& started) {
  return reduced("AllReduceWait", collective, started);
}

std::vector<Tensors> gather_replicas(const Tensor& collective, const Tensors& values, int replicas) {
  if (values.empty()) return {};
  Tensors inputs{collective};
  inputs.insert(inputs.end(), values.begin(), values.end());
  const Tensors all = run_op_all("GatherReplicas", inputs, {{"replicas", replicas}});
  std::vector<Tensors> of_values;
  for (auto first = all.begin(); first != all.end(); first += replicas) {
    of_values.emplace_back(first, first + replicas);
  }
  return of_values;
}

Tensors broadcast_first(const Tensor& collective, const Tensors& values) {
  return reduced("BroadcastFirst", collective, values);
}

}  // namespace cohort::ops
