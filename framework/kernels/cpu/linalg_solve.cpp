#include <cmath>
#include <vector>

#include "cohort/kernels/cpu/eigen.h"
#include "cohort/kernels/cpu/matrix_batch.h"

namespace cohort {
namespace {

template <class T>
using Factors = Eigen::PartialPivLU<RowMajor<T>>;

constexpr const char* kInvertible = "invertible matrices are expected";

template <class T>
bool has_zero_pivot(const Factors<T>& factors) {
  return (factors.matrixLU().diagonal().array() == T(0)).any();
}

KernelFn make_cholesky(const KernelSpec& spec) {
  const MatrixBatch batch(spec.input(0).shape);
  const bool checked = spec.attr<bool>("checked");
  const char* name = spec.name();
  return for_matrix_type(spec, [&]<class T>(T) -> KernelFn {
    return [=](const KernelIO& io) {
      UnfitMatrices unfit;
      for_each_matrix(batch.count, batch.work(), [&](std::int64_t i) {
        OutMatrix<T> factor(io.out<T>(0) + i * batch.size(), batch.rows, batch.columns);
        factor = InMatrix<T>(io.in<T>(0) + i * batch.size(), batch.rows, batch.columns);
        const Eigen::LLT<Eigen::Ref<RowMajor<T>>, Eigen::Lower> in_place(factor);
        const bool positive = in_place.info() == Eigen::Success && (factor.diagonal().array() > T(0)).all();
        factor.template triangularView<Eigen::StrictlyUpper>().setZero();
        if (positive) return;
        unfit.add(i);
        factor.setConstant(std::numeric_limits<T>::quiet_NaN());
      });
      if (checked) unfit.check(name, "symmetric positive definite matrices are expected");
    };
  });
}

KernelFn make_det(const KernelSpec& spec) {
  const MatrixBatch batch(spec.input(0).shape);
  return for_matrix_type(spec, [&]<class T>(T) -> KernelFn {
    return [=](const KernelIO& io) {
      for_each_matrix(batch.count, batch.work(), [&](std::int64_t i) {
        const InMatrix<T> x(io.in<T>(0) + i * batch.size(), batch.rows, batch.columns);
        io.out<T>(0)[i] = batch.size() == 0 ? T(1) : Factors<T>(x).determinant();
      });
    };
  });
}

KernelFn make_slogdet(const KernelSpec& spec) {
  const MatrixBatch batch(spec.input(0).shape);
  return for_matrix_type(spec, [&]<class T>(T) -> KernelFn {
    return [=](const KernelIO& io) {
      for_each_matrix(batch.count, batch.work(), [&](std::int64_t i) {
        T sign = 1, log = 0;
        if (batch.size() > 0) {
          const Factors<T> factors(InMatrix<T>(io.in<T>(0) + i * batch.size(), batch.rows, batch.columns));
          const auto pivots = factors.matrixLU().diagonal().array();
          sign = static_cast<T>(factors.permutationP().determinant()) * pivots.sign().prod();
          log = pivots.abs().log().sum();
        }
        io.out<T>(0)[i] = sign;
        io.out<T>(1)[i] = log;
      });
    };
  });
}

// write(factors, i, result, io) for each matrix, which must be invertible; `result` is its place in the first output.
template <class Write>
KernelFn make_of_factors(const KernelSpec& spec, const Write& write) {
  const MatrixBatch batch(spec.input(0).shape);
  const char* name = spec.name();
  return for_matrix_type(spec, [&]<class T>(T) -> KernelFn {
    return [=](const KernelIO& io) {
      if (batch.size() == 0) return;
      UnfitMatrices unfit;
      for_each_matrix(batch.count, batch.work(), [&](std::int64_t i) {
        const Factors<T> factors(InMatrix<T>(io.in<T>(0) + i * batch.size(), batch.rows, batch.columns));
        if (has_zero_pivot<T>(factors)) return unfit.add(i);
        write(factors, i, OutMatrix<T>(io.out<T>(0) + i * batch.size(), batch.rows, batch.columns), io);
      });
      unfit.check(name, kInvertible);
    };
  });
}

KernelFn make_inv(const KernelSpec& spec) {
  return make_of_factors(
      spec, [](const auto& factors, std::int64_t, auto result, const KernelIO&) { result = factors.inverse(); });
}

KernelFn make_lu_factor(const KernelSpec& spec) {
  return make_of_factors(spec, [](const auto& factors, std::int64_t i, auto result, const KernelIO& io) {
    result = factors.matrixLU();
    const auto& rows = factors.permutationP().indices();
    std::copy(rows.data(), rows.data() + rows.size(), io.out<std::int32_t>(1) + i * rows.size());
  });
}

// For each matrix of the output's batch, which one of an input's, whose leading axes broadcast, it belongs to.
std::vector<std::int64_t> broadcast_positions(const Shape& output, const Shape& input) {
  const int leading = output.rank() - 2;
  std::vector<std::int64_t> positions(static_cast<std::size_t>(output.slice(0, leading).num_elements()));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), stride = 1;
    for (int axis = leading - 1; axis >= 0; --axis) {
      const int own = axis - leading + input.rank() - 2;
      const std::int64_t at = rest % output[axis];
      rest /= output[axis];
      if (own < 0) continue;
      if (input[own] > 1) positions[i] += at * stride;
      stride *= input[own];
    }
  }
  return positions;
}

// solve(a, b, x) gives false for a matrix it cannot work with.
template <class T, class Solve>
KernelFn make_solver(const KernelSpec& spec, const Solve& solve) {
  const MatrixBatch a(spec.input(0).shape), x(spec.output(0).shape);
  const auto at_a = broadcast_positions(spec.output(0).shape, spec.input(0).shape);
  const auto at_b = broadcast_positions(spec.output(0).shape, spec.input(1).shape);
  const char* name = spec.name();
  return [=](const KernelIO& io) {
    if (x.size() == 0) return;
    UnfitMatrices unfit;
    for_each_matrix(x.count, a.work() + a.rows * x.size(), [&](std::int64_t i) {
      const auto index = static_cast<std::size_t>(i);
      const InMatrix<T> coefficients(io.in<T>(0) + at_a[index] * a.size(), a.rows, a.columns);
      const InMatrix<T> right(io.in<T>(1) + at_b[index] * x.size(), x.rows, x.columns);
      OutMatrix<T> result(io.out<T>(0) + i * x.size(), x.rows, x.columns);
      if (!solve(coefficients, right, result)) unfit.add(i);
    });
    unfit.check(name, kInvertible);
  };
}

KernelFn make_solve(const KernelSpec& spec) {
  return for_matrix_type(spec, [&]<class T>(T) -> KernelFn {
    return make_solver<T>(spec, [](const InMatrix<T>& a, const InMatrix<T>& b, OutMatrix<T>& x) {
      const Factors<T> factors(a);
      if (has_zero_pivot<T>(factors)) return false;
      x = factors.solve(b);
      return true;
    });
  });
}

// A zero on the diagonal gives infinities, as division by zero does.
KernelFn make_solve_triangular(const KernelSpec& spec) {
  const bool lower = spec.attr<bool>("lower");
  return for_matrix_type(spec, [&]<class T>(T) -> KernelFn {
    return make_solver<T>(spec, [lower](const InMatrix<T>& a, const InMatrix<T>& b, OutMatrix<T>& x) {
      x = b;
      if (lower) {
        a.template triangularView<Eigen::Lower>().solveInPlace(x);
      } else {
        a.template triangularView<Eigen::Upper>().solveInPlace(x);
      }
      return true;
    });
  });
}

COHORT_KERNEL("Cholesky", kCPU, make_cholesky);
COHORT_KERNEL("Det", kCPU, make_det);
COHORT_KERNEL("Slogdet", kCPU, make_slogdet);
COHORT_KERNEL("Inv", kCPU, make_inv);
COHORT_KERNEL("LuFactor", kCPU, make_lu_factor);
COHORT_KERNEL("Solve", kCPU, make_solve);
COHORT_KERNEL("SolveTriangular", kCPU, make_solve_triangular);

}  // namespace
}  // namespace cohort
