#include "cohort/kernels/cuda/product_shape.h"

namespace cohort::kernels::cuda {

ProductShape::ProductShape(DType operands, const Shape& a, const Shape& b, DType result, const Shape& c,
                           bool transpose_a, bool transpose_b)
    : operands(operands),
      result(result),
      m(c.dim(-2)),
      n(c.dim(-1)),
      k(a.dim(transpose_a ? -2 : -1)),
      transpose_a(transpose_a),
      transpose_b(transpose_b) {
  BatchAxis axes[kMaxRank];  // from the last to the first
  int count = 0;
  std::int64_t a_stride = m * k, b_stride = k * n, c_stride = m * n;
  for (int i = c.rank() - 3, j = a.rank() - 3, l = b.rank() - 3; i >= 0; --i, --j, --l) {
    const std::int64_t a_size = j >= 0 ? a[j] : 1, b_size = l >= 0 ? b[l] : 1;
    const BatchAxis axis{c[i], a_size == 1 ? 0 : a_stride, b_size == 1 ? 0 : b_stride, c_stride};
    a_stride *= a_size;
    b_stride *= b_size;
    c_stride *= c[i];
    if (axis.size == 1) continue;
    if (count > 0) {
      BatchAxis& inner = axes[count - 1];
      if (axis.a_stride == inner.a_stride * inner.size && axis.b_stride == inner.b_stride * inner.size) {
        inner.size *= axis.size;
        continue;
      }
    }
    axes[count++] = axis;
  }
  // One matrix b for the whole batch, and rows of a that follow each other: it is a single, taller product.
  if (count > 0 && !transpose_a && axes[0].b_stride == 0 && axes[0].a_stride == m * k) {
    m *= axes[0].size;
    for (int i = 1; i < count; ++i) axes[i - 1] = axes[i];
    --count;
  }
  batch_rank = count;
  for (int i = 0; i < count; ++i) batch[i] = axes[count - 1 - i];
}

}  // namespace cohort::kernels::cuda
