#include "cohort/kernels/cpu/eigen.h"
#include "cohort/kernels/cpu/matrix_batch.h"

namespace cohort {
namespace {

// Householder reflections walk down columns, which then lie together.
template <class T>
using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

KernelFn make_qr(const KernelSpec& spec) {
  const MatrixBatch x(spec.input(0).shape), q(spec.output(0).shape), r(spec.output(1).shape);
  return for_matrix_type(spec, [&]<class T>(T) -> KernelFn {
    return [=](const KernelIO& io) {
      for_each_matrix(x.count, x.work() + q.work(), [&](std::int64_t i) {
        OutMatrix<T> orthogonal(io.out<T>(0) + i * q.size(), q.rows, q.columns);
        if (x.size() == 0) return void(orthogonal.setIdentity());
        Columns<T> matrix = InMatrix<T>(io.in<T>(0) + i * x.size(), x.rows, x.columns);
        const Eigen::HouseholderQR<Eigen::Ref<Columns<T>>> in_place(matrix);
        orthogonal.setIdentity();
        orthogonal.applyOnTheLeft(in_place.householderQ());
        OutMatrix<T> triangle(io.out<T>(1) + i * r.size(), r.rows, r.columns);
        triangle.setZero();
        const std::int64_t rows = std::min(x.rows, x.columns);
        triangle.topRows(rows) = matrix.topRows(rows).template triangularView<Eigen::Upper>();
      });
    };
  });
}

// In double for both types: what Eigen compiles for it is much, and once is enough.
using EigenSolver = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>;

KernelFn make_eigh(const KernelSpec& spec) {
  const MatrixBatch x(spec.input(0).shape);
  const char* name = spec.name();
  return for_matrix_type(spec, [&]<class T>(T) -> KernelFn {
    return [=](const KernelIO& io) {
      if (x.size() == 0) return;
      UnfitMatrices unfit;
      for_each_matrix(x.count, 4 * x.work(), [&](std::int64_t i) {
        InMatrix<T> matrix(io.in<T>(0) + i * x.size(), x.rows, x.columns);
        Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>> values(io.out<T>(0) + i * x.rows, x.rows);
        OutMatrix<T> vectors(io.out<T>(1) + i * x.size(), x.rows, x.columns);
        const Eigen::MatrixXd lower = matrix.template cast<double>().template triangularView<Eigen::Lower>();
        if (!lower.allFinite()) return unfit.add(i);
        const EigenSolver solver(lower);
        if (solver.info() != Eigen::Success) return unfit.add(i);
        values = solver.eigenvalues().template cast<T>();
        vectors = solver.eigenvectors().template cast<T>();
      });
      unfit.check(name, "symmetric matrices of finite numbers are expected");
    };
  });
}

COHORT_KERNEL("Qr", kCPU, make_qr);
COHORT_KERNEL("Eigh", kCPU, make_eigh);

}  // namespace
}  // namespace cohort
