#include <algorithm>
#include <cmath>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/element_types.h"
#include "cohort/kernels/cpu/row_sums.h"
#include "cohort/kernels/cpu/visit.h"

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

KernelFn make_layer_norm(const KernelSpec& spec) {
  const RowPlan plan(spec.input(0).shape, spec.input(1).shape);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    using C = Compute<T>;
    return [plan, epsilon = static_cast<C>(spec.attr<double>("epsilon"))](const KernelIO& io) {
      const T *gamma = io.in<T>(1), *beta = io.in<T>(2);
      const std::int64_t width = plan.width;
      parallel_for(plan.rows, plan.grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          const T* x = io.in<T>(0) + row * width;
          T* y = io.out<T>(0) + row * width;
          const C mean = sum_in_lanes<C>(width, [=](std::int64_t i) { return C(x[i]); }) / static_cast<C>(width);
          const C squares = sum_in_lanes<C>(width, [=](std::int64_t i) {
            const C distance = C(x[i]) - mean;
            return distance * distance;
          });
          const C r = C(1) / std::sqrt(squares / static_cast<C>(width) + epsilon);
          for (std::int64_t i = 0; i < width; ++i) y[i] = T((C(x[i]) - mean) * r * C(gamma[i]) + C(beta[i]));
          io.out<C>(1)[row] = mean;
          io.out<C>(2)[row] = r;
        }
      });
    };
  });
}

Scratch partial_sums;

// (dy, x, gamma, mean, r) -> (dx, dgamma, dbeta). Each block of rows has its own sums for gamma and beta, added up in
// order afterwards.
KernelFn make_layer_norm_grad(const KernelSpec& spec) {
  const RowPlan plan(spec.input(1).shape, spec.input(2).shape);
  return visit_floating(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    using C = Compute<T>;
    return [plan](const KernelIO& io) {
      const T* gamma = io.in<T>(2);
      const std::int64_t width = plan.width;
      C* partial = partial_sums.get<C>(std::max<std::int64_t>(1, plan.blocks()) * 2 * width);
      std::fill_n(partial, std::max<std::int64_t>(1, plan.blocks()) * 2 * width, C(0));
      parallel_for(plan.rows, plan.grain, [&](std::int64_t begin, std::int64_t end) {
        C* __restrict dgamma = partial + begin / plan.grain * 2 * width;
        C* __restrict dbeta = dgamma + width;
        for (std::int64_t row = begin; row < end; ++row) {
          const T* __restrict dy = io.in<T>(0) + row * width;
          const T* __restrict x = io.in<T>(1) + row * width;
          T* __restrict dx = io.out<T>(0) + row * width;
          const C mean = io.in<C>(3)[row], r = io.in<C>(4)[row];
          LaneSums<C> flows, products;
          C *flow_lanes = flows.lanes(), *product_lanes = products.lanes();
          for_lanes(width, [&](std::int64_t i, std::int64_t lane) {
            const C flow = C(dy[i]), normal = (C(x[i]) - mean) * r, g = flow * C(gamma[i]);
            flow_lanes[lane] += g;
            product_lanes[lane] += g * normal;
            dgamma[i] += flow * normal;
            dbeta[i] += flow;
          });
          const C flow_mean = flows.total() / static_cast<C>(width);
          const C product_mean = products.total() / static_cast<C>(width);
          for (std::int64_t i = 0; i < width; ++i) {
            const C normal = (C(x[i]) - mean) * r;
            dx[i] = T(r * (C(dy[i]) * C(gamma[i]) - flow_mean - normal * product_mean));
          }
        }
      });
      for (std::int64_t block = 1; block < plan.blocks(); ++block) {
        const C* more = partial + block * 2 * width;
        for (std::int64_t i = 0; i < 2 * width; ++i) partial[i] += more[i];
      }
      for (std::int64_t i = 0; i < width; ++i) io.out<T>(1)[i] = T(partial[i]);
      for (std::int64_t i = 0; i < width; ++i) io.out<T>(2)[i] = T(partial[width + i]);
    };
  });
}

COHORT_KERNEL("LayerNorm", kCPU, make_layer_norm);
COHORT_KERNEL("LayerNormGrad", kCPU, make_layer_norm_grad);

}  // namespace
}  // namespace cohort::kernels
