#include "cohort/ops/normalization.h"

#include <vector>

#include "cohort/core/dispatch.h"
#include "cohort/core/mixed_types.h"
#include "cohort/core/op.h"
#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/gradient_or_zeros.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::ops {
namespace {

DType statistics_type(DType dtype) { return is_half(dtype) ? DType::Float32 : dtype; }

void check_types(const OpCall& call) {
  call.check(is_floating(call.dtype(0)) && call.dtype(0) == call.dtype(1) && call.dtype(0) == call.dtype(2),
             "input, gamma and beta must have one floating type",
             {{"input.dtype", call.dtype(0)}, {"gamma.dtype", call.dtype(1)}, {"beta.dtype", call.dtype(2)}});
}

// A normalization y = gamma * h + beta, h = (x - mean) * r, with everything in shapes that broadcast over x, and the
// axes of its sums. The forward and backward kernels do the work; these formulas are for gradients of gradients.
struct Normalization {
  Tensor x, gamma, mean, r;
  Axes normalized;  // that statistics are taken over
  Axes shared;      // that all have one gamma

  Tensor h() const { return (cast(x, mean.dtype()) - mean) * r; }
  // The part of g that changes neither the mean nor (but for epsilon) the variance.
  Tensor project(const Tensor& g) const {
    const Tensor normal = h();
    return g - ops::mean(g, normalized, keep_dims) - normal * ops::mean(g * normal, normalized, keep_dims);
  }
};

// What flows to (dy, x, gamma) when a, b and c flow to (dx, dgamma, dbeta), where dx = r * project(dy * gamma),
// dgamma = sum(dy * h), dbeta = sum(dy); b and c in shapes that broadcast over x. The statistics follow from x.
Tensors second_gradient(const Normalization& n, const Tensor& dy, const Tensor& a, const Tensor& b, const Tensor& c) {
  const DType type = n.mean.dtype();
  const Tensor da = cast(a, type), db = cast(b, type), dc = cast(c, type), flow = cast(dy, type);
  const Tensor gamma = cast(n.gamma, type), h = n.h(), g = flow * gamma, projected = n.r * n.project(da);
  const Tensor to_h =
      flow * db - n.r * (da * mean(g * h, n.normalized, keep_dims) + g * mean(da * h, n.normalized, keep_dims));
  const Tensor to_r = mean(da * n.project(g), n.normalized, keep_dims);
  const Tensor to_x = n.r * n.project(to_h) - to_r * square(n.r) * h;
  return {cast(gamma * projected + db * h + dc, dy.dtype()), cast(to_x, n.x.dtype()),
          cast(sum(flow * projected, n.shared), n.gamma.dtype())};
}

std::vector<std::int64_t> range(int first, int last) {
  std::vector<std::int64_t> axes;
  for (int axis = first; axis < last; ++axis) axes.push_back(axis);
  return axes;
}

Tensor expand_back(Tensor x, int count) {
  for (int i = 0; i < count; ++i) x = expand_dims(x, -1);
  return x;
}

// (x, gamma, beta) -> (y, mean, r); mean and r = 1 / sqrt(variance + epsilon) have the axes before gamma's.
COHORT_OP("LayerNorm")
    .inputs(3)
    .attr("epsilon", 1e-3)
    .infer([](const OpCall& call) -> Specs {
      const Shape &x = call.shape(0), &gamma = call.shape(1), &beta = call.shape(2);
      const DType computed = compute_type(call, 0), result = result_type(call, computed);
      call.check(is_floating(computed) && widens_to(call.dtype(0), computed) && widens_to(result, computed) &&
                     call.dtype(1) == computed && call.dtype(2) == computed,
                 "input, gamma and beta must have one floating type",
                 {{"input.dtype", call.dtype(0)}, {"gamma.dtype", call.dtype(1)}, {"beta.dtype", call.dtype(2)}});
      call.check(gamma.rank() >= 1 && x.rank() >= gamma.rank() && x.slice(x.rank() - gamma.rank()).compatible(gamma) &&
                     beta.compatible(gamma),
                 "gamma and beta must have the input's last axes",
                 {{"input.shape", x}, {"gamma.shape", gamma}, {"beta.shape", beta}});
      const TensorSpec statistics{statistics_type(computed), x.slice(0, x.rank() - gamma.rank())};
      return {{result, x}, statistics, statistics};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Tensors {
      const Tensor &x = call.input(0), &gamma = call.input(1), &mean = call.output(1), &r = call.output(2);
      const int rank = x.rank(), width = gamma.rank();
      Tensors gradients = run_op_all("LayerNormGrad", {or_zeros(dy[0], x), x, gamma, mean, r}, call.attributes());
      if (dy[1].defined() || dy[2].defined()) {
        const Tensor wide_r = expand_back(r, width), centered = cast(x, mean.dtype()) - expand_back(mean, width);
        const Tensor to_mean = expand_back(or_zeros(dy[1], mean), width);
        const Tensor to_r = expand_back(or_zeros(dy[2], r), width);
        const Tensor flow = to_mean - to_r * wide_r * wide_r * wide_r * centered;
        const Tensor count = size_of(x, range(rank - width, rank), mean.dtype());
        gradients[0] = gradients[0] + cast(flow / count, x.dtype());
      }
      return gradients;
    });

// (dy, x, gamma, mean, r) -> (dx, dgamma, dbeta)
COHORT_OP("LayerNormGrad")
    .inputs(5)
    .attr("epsilon", 1e-3)
    .infer([](const OpCall& call) -> Specs {
      const DType computed = compute_type(call, 1), result = result_type(call, computed);
      call.check(is_floating(computed) && widens_to(call.dtype(0), computed) && widens_to(call.dtype(1), computed) &&
                     widens_to(result, computed) && call.dtype(2) == computed &&
                     call.dtype(3) == statistics_type(computed) && call.dtype(4) == statistics_type(computed),
                 "what flows back, the input and gamma must have one floating type",
                 {{"dy.dtype", call.dtype(0)}, {"input.dtype", call.dtype(1)}, {"gamma.dtype", call.dtype(2)}});
      return {{result, call.shape(1)}, call.spec(2), call.spec(2)};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> flow) -> Tensors {
      const Tensor &dy = call.input(0), &x = call.input(1), &gamma = call.input(2);
      const int rank = x.rank(), width = gamma.rank();
      const Normalization n{x,
                            gamma,
                            expand_back(call.input(3), width),
                            expand_back(call.input(4), width),
                            range(rank - width, rank),
                            range(0, rank - width)};
      Tensors gradients =
          second_gradient(n, dy, or_zeros(flow[0], x), or_zeros(flow[1], gamma), or_zeros(flow[2], gamma));
      gradients.resize(5);
      return gradients;
    });

int channel_axis(const OpCall& call, int rank) { return normalize_axis(call.attr<int>("axis"), rank, call.name()); }

// A (channels,) vector in a shape that broadcasts over tensors with the channels at `axis`.
Tensor along(const Tensor& vector, int axis, int rank) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(rank), 1);
  shape[static_cast<std::size_t>(axis)] = -1;
  return reshape(vector, shape);
}

std::vector<std::int64_t> all_but(int axis, int rank) {
  std::vector<std::int64_t> axes = range(0, rank);
  axes.erase(axes.begin() + axis);
  return axes;
}

// (x, gamma, beta) -> (y, mean, variance)
COHORT_OP("BatchNorm")
    .inputs(3)
    .attr("axis", -1)
    .attr("epsilon", 1e-3)
    .infer([](const OpCall& call) -> Specs {
      const Shape &x = call.shape(0), &gamma = call.shape(1), &beta = call.shape(2);
      check_types(call);
      call.check(x.rank() >= 2, "input must have at least 2 axes", {{"input.shape", x}});
      const Shape channels = {x[channel_axis(call, x.rank())]};
      call.check(gamma.compatible(channels) && beta.compatible(channels),
                 "gamma and beta must have one element for each channel",
                 {{"input.shape", x}, {"axis", call.attr<int>("axis")}, {"gamma.shape", gamma}, {"beta.shape", beta}});
      const TensorSpec statistics{statistics_type(call.dtype(0)), channels};
      return {call.spec(0), statistics, statistics};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> dy) -> Tensors {
      const Tensor &x = call.input(0), &gamma = call.input(1), &mean = call.output(1), &variance = call.output(2);
      const int rank = x.rank(), axis = channel_axis(call, rank);
      Tensors gradients =
          run_op_all("BatchNormGrad", {or_zeros(dy[0], x), x, gamma, mean, variance}, call.attributes());
      if (dy[1].defined() || dy[2].defined()) {
        const Tensor centered = cast(x, mean.dtype()) - along(mean, axis, rank);
        const Tensor flow =
            along(or_zeros(dy[1], mean), axis, rank) + 2.0 * along(or_zeros(dy[2], variance), axis, rank) * centered;
        const Tensor count = size_of(x, all_but(axis, rank), mean.dtype());
        gradients[0] = gradients[0] + cast(flow / count, x.dtype());
      }
      return gradients;
    });

// (dy, x, gamma, mean, variance) -> (dx, dgamma, dbeta)
COHORT_OP("BatchNormGrad")
    .inputs(5)
    .attr("axis", -1)
    .attr("epsilon", 1e-3)
    .infer([](const OpCall& call) -> Specs {
      return {call.spec(1), call.spec(2), call.spec(2)};
    })
    .gradient([](const OpCall& call, std::span<const Tensor> flow) -> Tensors {
      const Tensor &dy = call.input(0), &x = call.input(1), &gamma = call.input(2);
      const int rank = x.rank(), axis = channel_axis(call, rank);
      const Normalization n{x,
                            along(gamma, axis, rank),
                            along(call.input(3), axis, rank),
                            along(rsqrt(call.input(4) + call.attr<double>("epsilon")), axis, rank),
                            all_but(axis, rank),
                            all_but(axis, rank)};
      Tensors gradients = second_gradient(n, dy, or_zeros(flow[0], x), along(or_zeros(flow[1], gamma), axis, rank),
                                          along(or_zeros(flow[2], gamma), axis, rank));
      gradients.resize(5);
      return gradients;
    });

// The two halves of BatchNorm and of its gradient that look at all elements of a channel. What is left is arithmetic on
// single elements, which a pass writes as ops of its own so that it is fused with what stands around it. x and dy may
// be of a half type, everything else is of the type that is computed in.

void check_factor_types(const OpCall& call, DType computed, int stored, int vectors) {
  bool fits = is_floating(computed) && !is_half(computed) && widens_to(call.dtype(stored), computed);
  for (int i = 0; i < stored; ++i) fits = fits && call.dtype(i) == call.dtype(stored);
  for (int i = stored + 1; i < stored + 1 + vectors; ++i) fits = fits && call.dtype(i) == computed;
  call.check(fits, "one type must be computed in, which only tensors with all axes may be narrower than",
             {{"computed", computed}, {"input.dtype", call.dtype(stored)}, {"gamma.dtype", call.dtype(stored + 1)}});
}
void check_factor_shapes(const OpCall& call, int full, int count) {
  const Shape& x = call.shape(full);
  call.check(x.rank() >= 2, "input must have at least 2 axes", {{"input.shape", x}});
  const Shape channels = {x[channel_axis(call, x.rank())]};
  for (int i = full + 1; i < count; ++i) {
    call.check(call.shape(i).compatible(channels), "vectors must have one element for each channel",
               {{"input.shape", x}, {"axis", call.attr<int>("axis")}, {"vector.shape", call.shape(i)}});
  }
}

// (x, gamma, beta) -> (mean, variance, scale, shift), of which BatchNorm is y = x * scale + shift
COHORT_OP("BatchNormFactors")
    .inputs(3)
    .attr("axis", -1)
    .attr("epsilon", 1e-3)
    .not_differentiable()
    .infer([](const OpCall& call) -> Specs {
      const DType computed = compute_type(call, 0);
      check_factor_types(call, computed, 0, 2);
      check_factor_shapes(call, 0, 3);
      return Specs(4, {computed, {call.shape(0)[channel_axis(call, call.shape(0).rank())]}});
    });

// (dy, x, gamma, mean, variance) -> (a, b, c, dgamma, dbeta), of which BatchNormGrad is dx = dy * a + x * b + c. With
// two more inputs, scale and shift, dy counts only where a relu of x * scale + shift, kept as an element of x, lets it
// through.
COHORT_OP("BatchNormGradFactors")
    .inputs(5, 7)
    .attr("axis", -1)
    .attr("epsilon", 1e-3)
    .not_differentiable()
    .infer([](const OpCall& call) -> Specs {
      const DType computed = compute_type(call, 1);
      call.check(call.num_inputs() != 6, "scale must come with shift", {{"inputs", call.num_inputs()}});
      check_factor_types(call, computed, 1, call.num_inputs() - 2);
      check_factor_shapes(call, 1, call.num_inputs());
      call.check(call.shape(0).compatible(call.shape(1)), "what flows back must have the input's shape",
                 {{"dy.shape", call.shape(0)}, {"input.shape", call.shape(1)}});
      return Specs(5, {computed, {call.shape(1)[channel_axis(call, call.shape(1).rank())]}});
    });

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double epsilon) {
  return run_op_all("LayerNorm", {x, gamma, beta}, {{"epsilon", epsilon}})[0];
}

BatchNormResult batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, int axis, double epsilon) {
  const Tensors results = run_op_all("BatchNorm", {x, gamma, beta}, {{"axis", axis}, {"epsilon", epsilon}});
  return {results[0], results[1], results[2]};
}

}  // namespace cohort::ops
