#include <algorithm>
#include <cmath>
#include <type_traits>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/element_types.h"
#include "cohort/kernels/cpu/packed_sums.h"
#include "cohort/kernels/cpu/typed_rows.h"

namespace cohort::kernels {
namespace {

// Rows of `width` elements, in blocks of rows that one task handles.
struct RowPlan {
  RowPlan(const Shape& x, const Shape& gamma) : width(gamma.num_elements()) {
    rows = x.slice(0, x.rank() - gamma.rank()).num_elements();
    // Few enough blocks that their partial sums stay small, each with enough work for a task.
    grain = std::max({std::int64_t{1}, (rows + 63) / 64, 8192 / std::max<std::int64_t>(1, width)});
  }
  std::int64_t blocks() const { return (rows + grain - 1) / grain; }
  std::int64_t rows, width, grain;
};

// y = (x - mean) * r * gamma + beta, and the two statistics.
template <class C>
void normalize_row(const C* x, const C* gamma, const C* beta, std::int64_t width, C epsilon, C* y, C* mean, C* r) {
  const C center = packed_sum(x, width, [](auto v) { return v; }) / static_cast<C>(width);
  const C squares = packed_sum(x, width, [center](auto v) { return (v - center) * (v - center); });
  const C scale = C(1) / std::sqrt(squares / static_cast<C>(width) + epsilon);
  for (std::int64_t i = 0; i < width; ++i) y[i] = (x[i] - center) * scale * gamma[i] + beta[i];
  *mean = center;
  *r = scale;
}

// The sums that dx needs: of g = dy * gamma and of g * h, where h = (x - mean) * r; adds dy * h and dy to dgamma,
// dbeta.
template <class C>
struct FlowSums {
  C flow, product;

  FlowSums(const C* dy, const C* x, const C* gamma, C mean, C r, std::int64_t width, C* dgamma, C* dbeta) {
    using Sum = PackedSum<C>;
    using Pack = typename Sum::Pack;
    Sum flows, products;
    std::int64_t i = 0;
    for (; i + Sum::kStep <= width; i += Sum::kStep) {
      Pack g[4], gh[4];
      for (int k = 0; k < 4; ++k) {
        const std::int64_t at = i + k * Sum::kWidth;
        const Pack d = load_pack(dy + at), h = (load_pack(x + at) - mean) * r;
        g[k] = d * load_pack(gamma + at);
        gh[k] = g[k] * h;
        store_pack<C>(load_pack(dgamma + at) + d * h, dgamma + at);
        store_pack<C>(load_pack(dbeta + at) + d, dbeta + at);
      }
      flows.add(g[0], g[1], g[2], g[3]);
      products.add(gh[0], gh[1], gh[2], gh[3]);
    }
    for (; i < width; ++i) {
      const C h = (x[i] - mean) * r, g = dy[i] * gamma[i];
      flows.add(g);
      products.add(g * h);
      dgamma[i] += dy[i] * h;
      dbeta[i] += dy[i];
    }
    flow = flows.total() / static_cast<C>(width);
    product = products.total() / static_cast<C>(width);
  }
};

Scratch row_memory, parameter_memory, partial_memory;

KernelFn make_layer_norm(const KernelSpec& spec) {
  return visit_computed(spec.output(1).dtype, [&]<class C>(C) -> KernelFn {
    const RowPlan plan(spec.input(0).shape, spec.input(1).shape);
    const std::int64_t width = plan.width;
    const TypedRows<C> xs(spec.input(0), width), parameters(spec.input(1), width), ys(spec.output(0), width);
    return [=, epsilon = static_cast<C>(spec.attr<double>("epsilon"))](const KernelIO& io) {
      C* converted = parameters.converts() ? parameter_memory.get<C>(2 * width) : nullptr;
      const C* gamma = parameters.read(io.inputs[1], 0, converted);
      const C* beta = parameters.read(io.inputs[2], 0, converted ? converted + width : nullptr);
      parallel_for(plan.rows, plan.grain, [&](std::int64_t begin, std::int64_t end) {
        C *memory = row_memory.get<C>(2 * width), *statistics = io.out<C>(1), *r = io.out<C>(2);
        for (std::int64_t row = begin; row < end; ++row) {
          const C* x = xs.read(io.inputs[0], row, memory);
          C* y = ys.place(io.outputs[0], row, memory + width);
          normalize_row(x, gamma, beta, width, epsilon, y, statistics + row, r + row);
          ys.store(y, io.outputs[0], row);
        }
      });
    };
  });
}

// (dy, x, gamma, mean, r) -> (dx, dgamma, dbeta). Each block of rows has its own sums for gamma and beta, added up in
// order afterwards.
KernelFn make_layer_norm_grad(const KernelSpec& spec) {
  return visit_computed(spec.input(3).dtype, [&]<class C>(C) -> KernelFn {
    const RowPlan plan(spec.input(1).shape, spec.input(2).shape);
    const std::int64_t width = plan.width;
    const TypedRows<C> dys(spec.input(0), width), xs(spec.input(1), width), parameters(spec.input(2), width),
        dxs(spec.output(0), width);
    return [=](const KernelIO& io) {
      const std::int64_t blocks = std::max<std::int64_t>(1, plan.blocks());
      const C* gamma =
          parameters.read(io.inputs[2], 0, parameters.converts() ? parameter_memory.get<C>(width) : nullptr);
      C* partial = partial_memory.get<C>(blocks * 2 * width);
      std::fill_n(partial, blocks * 2 * width, C(0));
      parallel_for(plan.rows, plan.grain, [&](std::int64_t begin, std::int64_t end) {
        C *memory = row_memory.get<C>(3 * width), *dgamma = partial + begin / plan.grain * 2 * width;
        for (std::int64_t row = begin; row < end; ++row) {
          const C* dy = dys.read(io.inputs[0], row, memory);
          const C* x = xs.read(io.inputs[1], row, memory + width);
          const C mean = io.in<C>(3)[row], r = io.in<C>(4)[row];
          const FlowSums<C> sums(dy, x, gamma, mean, r, width, dgamma, dgamma + width);
          C* dx = dxs.place(io.outputs[0], row, memory + 2 * width);
          for (std::int64_t i = 0; i < width; ++i) {
            dx[i] = r * (dy[i] * gamma[i] - sums.flow - (x[i] - mean) * r * sums.product);
          }
          dxs.store(dx, io.outputs[0], row);
        }
      });
      for (std::int64_t block = 1; block < blocks; ++block) {
        const C* more = partial + block * 2 * width;
        for (std::int64_t i = 0; i < 2 * width; ++i) partial[i] += more[i];
      }
      for (int i = 0; i < 2; ++i) {
        C* sums = parameters.place(io.outputs[1 + i], 0, partial + i * width);
        if (sums != partial + i * width) std::copy_n(partial + i * width, width, sums);
        parameters.store(sums, io.outputs[1 + i], 0);
      }
    };
  });
}

COHORT_KERNEL("LayerNorm", kCPU, make_layer_norm);
COHORT_KERNEL("LayerNormGrad", kCPU, make_layer_norm_grad);

}  // namespace
}  // namespace cohort::kernels
