#include "cohort/ops/nn.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/mixed_types.h"
#include "cohort/core/op.h"
#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::ops {
namespace {

Specs infer_softmax(const OpCall& call) {
  call.check(is_floating(call.dtype(0)), "the input must be floating", {{"input.dtype", call.dtype(0)}});
  normalize_axis(call.attr<int>("axis"), call.rank(0), call.name());
  return same_as(call.spec(0));
}

// What flows to the logits when `dy` flows to their softmax `y`.
Tensor softmax_backward(const Tensor& y, const Tensor& dy, int axis) { return y * (dy - sum(dy * y, axis, true)); }

COHORT_OP("Softmax")
    .inputs(1)
    .attr("axis", -1)
    .infer(infer_softmax)
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {softmax_backward(call.output(0), dy, call.attr<int>("axis"))};
    });

COHORT_OP("LogSoftmax")
    .inputs(1)
    .attr("axis", -1)
    .infer(infer_softmax)
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      return {dy - exp(call.output(0)) * sum(dy, call.attr<int>("axis"), true)};
    });

void check_logits(const OpCall& call, int i) {
  const DType computed = compute_type(call, i);
  call.check(is_floating(computed) && widens_to(call.dtype(i), computed), "logits must be floating",
             {{"logits.dtype", call.dtype(i)}, {kComputeType, computed}});
  call.check(call.rank(i) >= 1, "logits must have an axis of classes", {{"logits.shape", call.shape(i)}});
}
void check_dense_labels(const OpCall& call, int logits, int labels) {
  call.check(call.dtype(labels) == compute_type(call, logits) && call.shape(labels).compatible(call.shape(logits)),
             "labels must have the type and shape of the logits",
             {{"labels", call.spec(labels)}, {"logits", call.spec(logits)}});
}
void check_sparse_labels(const OpCall& call, int logits, int labels) {
  const Shape rows = call.shape(logits).slice(0, call.rank(logits) - 1);
  call.check(is_integer(call.dtype(labels)), "labels must be integers", {{"labels.dtype", call.dtype(labels)}});
  call.check(call.shape(labels).compatible(rows), "labels must have the shape of the logits without the last axis",
             {{"labels.shape", call.shape(labels)}, {"logits.shape", call.shape(logits)}});
}
Specs per_row(const OpCall& call) { return {{compute_type(call, 0), call.shape(0).slice(0, call.rank(0) - 1)}}; }
// What statistics of rows are kept in.
DType wide_type(DType computed) { return computed == DType::Float64 ? DType::Float64 : DType::Float32; }
// What flows to logits of this shape from a computation in this type.
Specs flow_to_logits(const OpCall& call, DType computed, const Shape& logits) {
  const DType result = result_type(call, computed);
  call.check(is_floating(result) && widens_to(result, computed), "the result must have a floating type",
             {{kResultType, result}, {kComputeType, computed}});
  return {{result, logits}};
}
// What flows to the losses of rows, input 0, where logits are input 1.
void check_flow_to_rows(const OpCall& call, DType computed) {
  const Shape rows = call.shape(1).slice(0, call.rank(1) - 1);
  call.check(call.dtype(0) == computed && call.shape(0).compatible(rows),
             "dloss must have the type that is computed in and a number for each row of logits",
             {{"dloss", call.spec(0)}, {"logits.shape", call.shape(1)}, {kComputeType, computed}});
}
// What flows to the logits, and the losses of their rows.
Specs flow_and_losses(const OpCall& call) {
  const DType computed = compute_type(call, 1);
  check_flow_to_rows(call, computed);
  return {flow_to_logits(call, computed, call.shape(1))[0], {computed, call.shape(0)}};
}

Tensor cross_entropy_gradient(const Tensor& dloss, const Tensor& logits, const Tensor& labels, bool distribution) {
  return run_op("SoftmaxCrossEntropyGrad", {dloss, logits, labels}, {{"assume_distribution", distribution}});
}
Tensor sparse_cross_entropy_gradient(const Tensor& dloss, const Tensor& probabilities, const Tensor& labels) {
  return run_op("SparseSoftmaxCrossEntropyGrad", {dloss, probabilities, labels});
}

// With assume_distribution the gradient takes each row of labels to sum to one, whatever it sums to.
COHORT_OP("SoftmaxCrossEntropy")
    .inputs(2)
    .attr("assume_distribution", false)
    .infer([](const OpCall& call) {
      check_logits(call, 0);
      check_dense_labels(call, 0, 1);
      return per_row(call);
    })
    .gradient([](const OpCall& call, const Tensor& dloss) -> Tensors {
      const Tensor &logits = call.input(0), &labels = call.input(1);
      const bool distribution = call.attr<bool>("assume_distribution");
      return {cross_entropy_gradient(dloss, logits, labels, distribution),
              -(expand_dims(dloss, -1) * log_softmax(logits))};
    });

COHORT_OP("SoftmaxCrossEntropyGrad")  // (dloss, logits, labels) -> dloss * (softmax * sum(labels) - labels)
    .inputs(3)
    .attr("assume_distribution", false)
    .infer([](const OpCall& call) {
      check_logits(call, 1);
      check_dense_labels(call, 1, 2);
      return flow_to_logits(call, compute_type(call, 1), call.shape(1));
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      const Tensor &dloss = call.input(0), &logits = call.input(1), &labels = call.input(2);
      const Tensor p = softmax(logits), weighted = dy * expand_dims(dloss, -1);
      if (call.attr<bool>("assume_distribution")) {
        return {sum(dy * (p - labels), -1), softmax_backward(p, weighted, -1), -weighted};
      }
      const Tensor mass = sum(labels, -1, true);
      return {sum(dy * (p * mass - labels), -1), softmax_backward(p, weighted * mass, -1),
              sum(weighted * p, -1, true) - weighted};
    });

COHORT_OP("SparseSoftmaxCrossEntropy")  // (logits, labels) -> loss, and the softmax, which the gradient is made of
    .inputs(2)
    .checks()
    .infer([](const OpCall& call) -> Specs {
      check_logits(call, 0);
      check_sparse_labels(call, 0, 1);
      return {per_row(call)[0], {wide_type(compute_type(call, 0)), call.shape(0)}};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Tensors {
      const Tensor& p = call.output(1);
      Tensor dx;
      if (dy[0].defined()) dx = sparse_cross_entropy_gradient(dy[0], p, call.input(1));
      if (dy[1].defined()) {
        const Tensor from_softmax = cast(softmax_backward(p, dy[1], -1), call.dtype(0));
        dx = dx.defined() ? dx + from_softmax : from_softmax;
      }
      return {dx, {}};
    });

COHORT_OP("SparseSoftmaxCrossEntropyGrad")  // (dloss, softmax, labels) -> dloss * (softmax - one_hot(labels))
    .inputs(3)
    .checks()
    .infer([](const OpCall& call) -> Specs {
      check_logits(call, 1);
      check_sparse_labels(call, 1, 2);
      return flow_to_logits(call, call.dtype(0), call.shape(1));
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      const Tensor &dloss = call.input(0), &p = call.input(1), &labels = call.input(2);
      return {sum(dy * sparse_cross_entropy_gradient(ones_like(dloss), p, labels), -1),
              cast(dy * expand_dims(dloss, -1), p.dtype()),
              {}};
    });

Tensor rows_gradient(const Tensor& dloss, const Tensor& logits, const Tensor& labels, const Tensor& logsumexp) {
  return run_op("SparseSoftmaxCrossEntropyRowsGrad", {dloss, logits, labels, logsumexp});
}
Tensor softmax_of_rows(const Tensor& logits, const Tensor& logsumexp) {
  return exp(cast(logits, logsumexp.dtype()) - expand_dims(logsumexp, -1));
}

// (logits, labels) -> loss, log(sum(exp(logits))): what a pass makes of SparseSoftmaxCrossEntropy where reading the
// logits again costs less than keeping their softmax.
COHORT_OP("SparseSoftmaxCrossEntropyRows")
    .inputs(2)
    .checks()
    .infer([](const OpCall& call) -> Specs {
      check_logits(call, 0);
      check_sparse_labels(call, 0, 1);
      const TensorSpec loss = per_row(call)[0];
      return {loss, {wide_type(loss.dtype), loss.shape}};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Tensors {
      const Tensor &logits = call.input(0), &logsumexp = call.output(1);
      Tensor dx;
      if (dy[0].defined()) dx = rows_gradient(dy[0], logits, call.input(1), logsumexp);
      if (dy[1].defined()) {
        const Tensor flow = expand_dims(dy[1], -1) * softmax_of_rows(logits, logsumexp);
        const Tensor from_logsumexp = cast(flow, logits.dtype());
        dx = dx.defined() ? dx + from_logsumexp : from_logsumexp;
      }
      return {dx, {}};
    });

// (dloss, logits, labels, logsumexp) -> dloss * (exp(logits - logsumexp) - one_hot(labels))
COHORT_OP("SparseSoftmaxCrossEntropyRowsGrad")
    .inputs(4)
    .checks()
    .may_overwrite(1)
    .infer([](const OpCall& call) -> Specs {
      check_logits(call, 1);
      check_sparse_labels(call, 1, 2);
      const DType computed = compute_type(call, 1);
      check_flow_to_rows(call, computed);
      call.check(call.dtype(3) == wide_type(computed) && call.shape(3).compatible(call.shape(2)),
                 "logsumexp must have the shape of the labels and a type as wide as float32",
                 {{"logsumexp", call.spec(3)}, {"labels.shape", call.shape(2)}});
      return flow_to_logits(call, computed, call.shape(1));
    })
    .gradient([](const OpCall& call, const Tensor& dy) -> Tensors {
      const Tensor &dloss = call.input(0), &logits = call.input(1), &labels = call.input(2), &logsumexp = call.input(3);
      const Tensor p = softmax_of_rows(logits, logsumexp);
      const Tensor flow = cast(dy * expand_dims(dloss, -1), p.dtype()) * p;
      return {sum(dy * rows_gradient(ones_like(dloss), logits, labels, logsumexp), -1),
              cast(flow, logits.dtype()),
              {},
              -sum(flow, -1)};
    });

// (dloss, logits, labels) -> what the gradient of the cross-entropy gives, and the loss: both from one look at the
// logits. Only passes make them.
COHORT_OP("SparseSoftmaxCrossEntropyAndGrad")
    .inputs(3)
    .checks()
    .may_overwrite(1)
    .infer([](const OpCall& call) -> Specs {
      check_logits(call, 1);
      check_sparse_labels(call, 1, 2);
      return flow_and_losses(call);
    })
    .not_differentiable();
COHORT_OP("SoftmaxCrossEntropyAndGrad")
    .inputs(3)
    .attr("assume_distribution", false)
    .may_overwrite(1)
    .infer([](const OpCall& call) -> Specs {
      check_logits(call, 1);
      check_dense_labels(call, 1, 2);
      return flow_and_losses(call);
    })
    .not_differentiable();

}  // namespace

Tensor softmax(const Tensor& x, int axis) { return run_op("Softmax", {x}, {{"axis", axis}}); }
Tensor log_softmax(const Tensor& x, int axis) { return run_op("LogSoftmax", {x}, {{"axis", axis}}); }
Tensor softmax_cross_entropy(const Tensor& logits, const Tensor& labels) {
  return run_op("SoftmaxCrossEntropy", {logits, labels});
}
Tensor sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels) {
  return run_op_all("SparseSoftmaxCrossEntropy", {logits, labels})[0];
}
// Equal to -labels * log(p) - (1 - labels) * log(1 - p), without overflow and with a smooth gradient at 0.
Tensor sigmoid_cross_entropy(const Tensor& logits, const Tensor& labels) { return softplus(logits) - logits * labels; }

}  // namespace cohort::ops
