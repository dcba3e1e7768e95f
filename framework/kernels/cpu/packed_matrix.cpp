#include "cohort/kernels/cpu/packed_matrix.h"

#include <algorithm>

#include "cohort/kernels/cpu/product_schemes.h"

namespace cohort {

using products::kTileColumns, products::kTileRows;

template <class T>
std::int64_t PackedMatrix<T>::size(std::int64_t k, std::int64_t n) {
  return k * ((n + kTileColumns<T> - 1) / kTileColumns<T> * kTileColumns<T>);
}

template <class T>
std::int64_t PackedMatrix<T>::work_size(std::int64_t k, std::int64_t rows) {
  return k * ((rows + kTileRows - 1) / kTileRows * kTileRows);
}

template <class T>
PackedMatrix<T>::PackedMatrix(const T* b, std::int64_t ldb, bool transposed, std::int64_t k, std::int64_t n, T* memory)
    : k_(k), n_(n), panels_(memory) {
  products::pack_panels<static_cast<int>(kTileColumns<T>)>(products::Operand<T>{b, ldb, transposed}, n, k, memory);
}

template <class T>
void PackedMatrix<T>::multiply(const T* a, std::int64_t lda, std::int64_t rows, T* c, std::int64_t ldc, T* work) const {
  // The widest vectors are multiplied by an element of a wherever it lies, sooner than they turn rows into a panel.
  constexpr bool kDirect = kVectorBytes == 64;
  constexpr products::LeftOperand kLeft = kDirect ? products::LeftOperand::kInMatrix : products::LeftOperand::kPanel;
  if constexpr (!kDirect) products::pack_panels<kTileRows>(products::Operand<T>{a, lda, true}, rows, k_, work);
  for (std::int64_t j = 0; j < n_; j += kTileColumns<T>) {
    for (std::int64_t i = 0; i < rows; i += kTileRows) {
      products::AnyTile<T, kLeft>::multiply(kDirect ? a + i * lda : work + i * k_, kDirect ? lda : 1,
                                            kDirect ? 1 : kTileRows, panels_ + j * k_, kTileColumns<T>, k_,
                                            c + i * ldc + j, ldc, false, std::min<std::int64_t>(kTileRows, rows - i),
                                            std::min(kTileColumns<T>, n_ - j));
    }
  }
}

template class PackedMatrix<float>;
template class PackedMatrix<double>;

}  // namespace cohort
