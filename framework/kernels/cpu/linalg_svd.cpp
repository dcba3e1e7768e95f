#include "cohort/kernels/cpu/eigen.h"
#include "cohort/kernels/cpu/matrix_batch.h"

namespace cohort {
namespace {

using Columns = Eigen::MatrixXd;
using Values = Eigen::VectorXd;

constexpr unsigned kThin = Eigen::ComputeThinU | Eigen::ComputeThinV;
constexpr unsigned kFull = Eigen::ComputeFullU | Eigen::ComputeFullV;

// In double for both types: the decomposition is the costliest template of Eigen to compile, and once is enough.
class Decomposition {
 public:
  template <class T>
  Decomposition(const InMatrix<T>& matrix, unsigned vectors)
      : Decomposition(Columns(matrix.template cast<double>()), vectors) {}
  Decomposition(const Columns& matrix, unsigned vectors);

  Columns left, right;
  Values singular;
};

Decomposition::Decomposition(const Columns& matrix, unsigned vectors) {
  const Eigen::BDCSVD<Columns> svd(matrix, vectors);
  singular = svd.singularValues();
  if (vectors == 0) return;
  left = svd.matrixU();
  right = svd.matrixV();
}

template <class T>
void fill_with_nan(T* values, std::int64_t count) {
  std::fill_n(values, count, std::numeric_limits<T>::quiet_NaN());
}

KernelFn make_svd(const KernelSpec& spec) {
  const MatrixBatch x(spec.input(0).shape);
  const bool vectors = spec.attr<bool>("compute_uv"), full = spec.attr<bool>("full_matrices");
  const std::int64_t count = std::min(x.rows, x.columns);
  const MatrixBatch u(vectors ? spec.output(1).shape : Shape{0, 0}), vh(vectors ? spec.output(2).shape : Shape{0, 0});
  return for_matrix_type(spec, [&]<class T>(T) -> KernelFn {
    return [=](const KernelIO& io) {
      for_each_matrix(x.count, 8 * x.work(), [&](std::int64_t i) {
        Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>> singular(io.out<T>(0) + i * count, count);
        OutMatrix<T> left(vectors ? io.out<T>(1) + i * u.size() : nullptr, u.rows, u.columns);
        OutMatrix<T> right(vectors ? io.out<T>(2) + i * vh.size() : nullptr, vh.rows, vh.columns);
        const InMatrix<T> matrix(io.in<T>(0) + i * x.size(), x.rows, x.columns);
        if (x.size() == 0) {
          left.setIdentity();
          right.setIdentity();
        } else if (!matrix.allFinite()) {
          fill_with_nan(singular.data(), count);
          fill_with_nan(left.data(), u.size());
          fill_with_nan(right.data(), vh.size());
        } else {
          const Decomposition found(matrix, !vectors ? 0U : full ? kFull : kThin);
          singular = found.singular.template cast<T>();
          left = found.left.template cast<T>();
          right = found.right.transpose().template cast<T>();
        }
      });
    };
  });
}

// Below which share of the largest one a singular value counts as zero.
template <class T>
double cutoff_ratio(const KernelSpec& spec) {
  if (spec.has_attr("rcond")) return spec.attr<double>("rcond");
  const MatrixBatch x(spec.input(0).shape);
  const double size = static_cast<double>(std::max(x.rows, x.columns));
  return spec.attr<double>("epsilons") * size * std::numeric_limits<T>::epsilon();
}

// 1 / s, and 0 where s counts as zero.
Values inverted(const Values& s, double ratio) {
  const double cutoff = s(0) * ratio;
  return s.unaryExpr([cutoff](double value) { return value > cutoff ? 1.0 / value : 0.0; });
}

// The solution of the least squares with the smallest norm.
Columns minimizer(const Decomposition& a, double ratio, const Columns& b) {
  return a.right * (inverted(a.singular, ratio).asDiagonal() * (a.left.transpose() * b));
}

KernelFn make_pinv(const KernelSpec& spec) {
  const MatrixBatch x(spec.input(0).shape);
  return for_matrix_type(spec, [&]<class T>(T) -> KernelFn {
    const double ratio = cutoff_ratio<T>(spec);
    return [=](const KernelIO& io) {
      if (x.size() == 0) return;
      for_each_matrix(x.count, 8 * x.work(), [&](std::int64_t i) {
        const InMatrix<T> matrix(io.in<T>(0) + i * x.size(), x.rows, x.columns);
        OutMatrix<T> inverse(io.out<T>(0) + i * x.size(), x.columns, x.rows);
        if (!matrix.allFinite()) return fill_with_nan(inverse.data(), x.size());
        const Decomposition found(matrix, kThin);
        const Columns scaled = found.right * inverted(found.singular, ratio).asDiagonal();
        inverse = Columns(scaled * found.left.transpose()).template cast<T>();
      });
    };
  });
}

KernelFn make_lstsq(const KernelSpec& spec) {
  const MatrixBatch a(spec.input(0).shape), b(spec.input(1).shape), x(spec.output(0).shape);
  return for_matrix_type(spec, [&]<class T>(T) -> KernelFn {
    const double ratio = cutoff_ratio<T>(spec);
    return [=](const KernelIO& io) {
      for_each_matrix(a.count, 8 * a.work() + a.rows * b.size(), [&](std::int64_t i) {
        const InMatrix<T> matrix(io.in<T>(0) + i * a.size(), a.rows, a.columns);
        const InMatrix<T> right(io.in<T>(1) + i * b.size(), b.rows, b.columns);
        OutMatrix<T> solution(io.out<T>(0) + i * x.size(), x.rows, x.columns);
        if (a.size() == 0) return void(solution.setZero());
        if (!matrix.allFinite()) return fill_with_nan(solution.data(), x.size());
        solution = minimizer(Decomposition(matrix, kThin), ratio, right.template cast<double>()).template cast<T>();
      });
    };
  });
}

COHORT_KERNEL("Svd", kCPU, make_svd);
COHORT_KERNEL("Pinv", kCPU, make_pinv);
COHORT_KERNEL("Lstsq", kCPU, make_lstsq);

}  // namespace
}  // namespace cohort
